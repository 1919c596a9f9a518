"""Every shipped spec fits `json_schema()`, and broken copies of one do not.

Usage: schema_test.py <program that prints the schema> <folder of specs>
"""

import copy
import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as error:
    print(f"skipped: {error.name} is not installed (python3-jsonschema, python3-yaml)")
    sys.exit(77)  # SKIP_RETURN_CODE of the test


def remove(*path):
    def change(spec):
        for key in path[:-1]:
            spec = spec[key]
        del spec[path[-1]]

    return change


def put(value, *path):
    def change(spec):
        for key in path[:-1]:
            spec = spec[key]
        spec[path[-1]] = value

    return change


RECURRENT = {
    "attngen": 1, "name": "mamba2", "pattern": "recurrent", "dtype": "bf16",
    "heads": {"q": 1, "k": 1, "v": 64}, "head_dim": {"qk": 128, "v": 64},
    "inputs": {"dt": {"dtype": "f32", "shape": ["batch", "seq", "heads"]}},
    "value": "v * dt[b, t, h]", "log_decay": "dt[b, t, h]", "state": {"initial": True},
}

MUTATIONS = {
    "no version": remove("attngen"),
    "other version": put(2, "attngen"),
    "no name": remove("name"),
    "name is no identifier": put("../x", "name"),
    "name is too long": put("a" * 65, "name"),
    "unknown key": put(1, "heds"),
    "unknown key inside": put(1, "heads", "k"),
    "key of the other pattern": put("beta", "delta"),
    "other pattern": put("recurrent", "pattern"),
    "no heads": remove("heads"),
    "no heads.kv": remove("heads", "kv"),
    "no heads at all": put(0, "heads", "q"),
    "heads is text": put("8", "heads", "q"),
    "head_dim is no multiple of 8": put(60, "head_dim", "qk"),
    "unknown dtype": put("fp8", "dtype"),
    "doc has two lines": put("a\nb", "doc"),
    "unknown pass": put(["forwards"], "passes"),
    "pass twice": put(["forward", "forward"], "passes"),
    "no target": put([], "targets"),
    "text as scale": put("none", "scale"),
    "mask is a list": put([], "mask"),
    "unknown normalizer": put("soft", "normalize"),
    "page of no keys": put({"paged": 0}, "kv_cache"),
    "unknown dimension": put({"x": {"dtype": "f32", "shape": ["head"]}}, "inputs"),
    "input without shape": put({"x": {"dtype": "f32"}}, "inputs"),
    "weight is not positive": put({"seq_q": 1, "weight": 0}, "workload"),
    "no workload": put([], "workload"),
    "V shares all of K": put(True, "share_kv"),
}


def main():
    schema = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failures = []

    specs = {path: yaml.safe_load(path.read_text()) for path in
             sorted(pathlib.Path(sys.argv[2]).glob("**/*.yaml"))}
    specs["(recurrent)"] = RECURRENT
    for path, spec in specs.items():
        for error in validator.iter_errors(spec):
            failures.append(f"{path}: {error.json_path}: {error.message}")

    base = next(spec for path, spec in specs.items() if pathlib.Path(path).stem == "llama3_8b")
    for name, change in MUTATIONS.items():
        spec = copy.deepcopy(base)
        change(spec)
        if validator.is_valid(spec):
            failures.append(f"accepted: {name}")

    print("\n".join(failures) or f"{len(specs)} specs fit, {len(MUTATIONS)} mutations do not")
    sys.exit(1 if failures else 0)


main()
