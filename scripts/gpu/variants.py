"""The specs of specs/variants, as cases of the GPU check."""

from pathlib import Path

import yaml

from gpu.case import Case

FOLDER = Path(__file__).resolve().parents[2] / "specs" / "variants"

# What each input of the files is filled with (fills.FILLS), by its name.
FILLS = {
    "prefix": {"fill": "lengths"}, "kv_len": {"fill": "lengths"}, "doc": {"fill": "documents"},
    "span": {"fill": "documents"}, "image": {"fill": "bits"}, "slopes": {"fill": "slopes"},
    "temperature": {"fill": "slopes"}, "log_decay": {"fill": "log_decay"}, "gates": {"fill": "log_gates"},
    "sink": {"fill": "normal"}, "lambda": {"fill": "lambdas"}, "table": {"fill": "normal"},
    "step": {"fill": "normal"}, "entry": {"fill": "normal"},
    "rel": {"fill": "normal"}, "rel_h": {"fill": "normal"}, "rel_w": {"fill": "normal"},
    "dist": {"fill": "hops"}, "spatial": {"fill": "normal"}, "bd": {"fill": "normal"},
    "bucket": {"fill": "buckets"}, "c2p": {"fill": "normal"}, "p2c": {"fill": "normal"},
    "gate": {"fill": "normal"}, "pair": {"fill": "normal"}, "key": {"fill": "normal"},
    "keep": {"fill": "bits"}, "attn_mask": {"fill": "holes"},
}
# Outputs that grow with the scores leave the range of the storage type.
UNBOUNDED = {"relu", "relu_d64", "squared_relu", "retention", "wide_retention", "softpick",
             "linear_attention", "gated_linear_attention", "mlstm",
             "packed_linear_attention"}
# Whose saved value is a difference that may cancel: its two terms are held in its place.
SAVED_ROWS = {"entropy": {"lse": "m + log(l)", "mean": "e / l"}}
LONGEST_OF_PAIRS = 1000  # of inputs with an element for each pair, or for each query and distance


def read(name):
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text())


def names():
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def fill_of(name, declared):
    if name == "bias":
        return {"fill": "normal"} if declared["shape"] else {"value": -3.0}
    if name == "doc" and not declared.get("sorted"):
        return {"fill": "documents_anyhow"}
    return FILLS[name]


def has_pairs(spec):
    """Whether an input has an element for each pair."""
    return any({"seq_q", "seq_kv"} <= set(i["shape"]) for i in spec.get("inputs", {}).values())


def case_of(name):
    """The file's spec under the name file_..., so that it is no other case's."""
    spec = {**read(name), "name": f"file_{name}"}
    inputs = spec.get("inputs", {})
    pairs = has_pairs(spec) or "bd" in inputs
    fills = {key: fill_of(key, declared) for key, declared in inputs.items()}
    spec.setdefault("layout", "bshd")
    if name in SAVED_ROWS:
        spec["normalize"] = {**spec["normalize"], "save": SAVED_ROWS[name]}
    return Case(spec["name"], spec, "variant", fills, longest=LONGEST_OF_PAIRS if pairs else 8191,
                large=name not in UNBOUNDED, data=spec["name"])


BY_HAND = {"varlen", "blocks", "tokens", "share_kv", "kv_cache"}


def file_cases():
    """Packed and sparse specs need more than tensors.draw gives, and latent ones fewer queries."""
    return [case_of(name) for name in names() if not BY_HAND & set(read(name))]
