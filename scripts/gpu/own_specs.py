"""Specs of yours, as cases: build_gpu_cases.py --specs builds them, gpu_check.py holds them to the
oracle, and bench_specs.py times them.
"""

import json
from pathlib import Path

import yaml

from gpu.case import Case
from gpu.variants import FILLS as BY_NAME
from gpu.variants import LONGEST_OF_PAIRS, has_pairs


def guess_fill(name, declared):
    """By what inputs of that name mostly are, or else by what it is made of."""
    shape, dtype = declared["shape"], declared["dtype"]
    if not shape:
        return {"value": 64 if dtype in ("i32", "u8") else 0.5}
    if name == "doc" or (dtype == "i32" and shape[-1] in ("seq_q", "seq_kv")):
        return {"fill": "documents" if declared.get("sorted") else "documents_anyhow"}
    if name in BY_NAME:
        return BY_NAME[name]
    if dtype in ("i32", "u8"):
        return {"fill": "lengths" if dtype == "i32" else "coins"}
    return {"fill": "slopes" if shape == ["heads"] else "normal"}


def fill_of(text):
    """("window", {"value": 1024}) of window=1024, ("doc", {"fill": "documents"}) of doc=documents."""
    name, _, how = text.partition("=")
    if how.isidentifier():
        return name, {"fill": how}
    return name, {"value": int(how) if how.lstrip("-").isdigit() else float(how)}


def case_of(spec, fills):
    """`fills`: of some inputs, in the place of guesses."""
    spec = {"layout": "bshd", "normalize": "softmax", **spec}
    if spec.get("scale") == "default":
        del spec["scale"]
    has_max = spec["normalize"] == "softmax" or "rowmax" in json.dumps(spec["normalize"])
    # Whatever follows the scores may leave the range of the storage type where they are large.
    return Case(spec["name"], spec, "variant",
                {name: fills.get(name) or guess_fill(name, declared)
                 for name, declared in spec.get("inputs", {}).items()},
                longest=LONGEST_OF_PAIRS if has_pairs(spec) else 8191, large=has_max,
                data=spec["name"])


def read_cases(paths, fills):
    """`fills`: those of fill_of."""
    cases = [case_of(yaml.safe_load(Path(path).read_text()), dict(fills)) for path in paths]
    inputs = {name for case in cases for name in case.fills}
    for name, _ in fills:
        if name not in inputs:
            raise ValueError(f"--fill {name}: no spec has such an input")
    return cases


def to_index(cases):
    return [{"spec": case.spec, "fills": case.fills} for case in cases]


def of_index(entries):
    return [case_of(entry["spec"], entry["fills"]) for entry in entries]
