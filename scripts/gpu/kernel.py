"""An emitted kernel, called through the C interface that its manifest describes."""

import ctypes
import json
from pathlib import Path

C_TYPES = {"size_t": ctypes.c_size_t, "int64_t": ctypes.c_int64, "int32_t": ctypes.c_int32,
           "uint8_t": ctypes.c_uint8, "float": ctypes.c_float}


def c_type(text):
    return ctypes.c_void_p if text.endswith("*") else C_TYPES[text]


def forward_fields(manifest):
    """(name, C type) of each field of the forward argument struct, in order."""
    for one in manifest["passes"]:
        if one["pass"] == "forward":
            return [(f["name"], f["c_type"]) for f in one["args"]["fields"]]
    raise KeyError(f"{manifest['name']}: the manifest has no forward pass")


class Kernel:
    """The functions <name>_forward, <name>_forward_workspace and <name>_status_string."""

    def __init__(self, library, manifest_path):
        manifest = json.loads(Path(manifest_path).read_text())
        self.name = manifest["name"]
        self.fields = forward_fields(manifest)
        self.args_type = type("Args", (ctypes.Structure,),
                              {"_fields_": [(n, c_type(t)) for n, t in self.fields]})
        loaded = ctypes.CDLL(str(library))
        self.forward = loaded[f"{self.name}_forward"]
        self.forward.restype = ctypes.c_int
        self.forward.argtypes = [ctypes.POINTER(self.args_type), ctypes.c_void_p, ctypes.c_void_p]
        self.workspace_bytes = loaded[f"{self.name}_forward_workspace"]
        self.workspace_bytes.restype = ctypes.c_size_t
        self.workspace_bytes.argtypes = [ctypes.POINTER(self.args_type)]
        self.string = loaded[f"{self.name}_status_string"]
        self.string.restype = ctypes.c_char_p
        self.string.argtypes = [ctypes.c_int]

    def save_names(self):
        """The float* fields: per-row results, in the spec's order."""
        return [name for name, text in self.fields if text == "float*"]

    def args(self, problem):
        """The argument struct of a tensors.Problem. It holds addresses, so keep the problem."""
        shape, spec = problem.shape, problem.case.spec
        values = {"size": ctypes.sizeof(self.args_type), "batch": shape.batch,
                  "seq_q": shape.seq_q, "seq_kv": shape.seq_kv,
                  "total_q": problem.q.view.shape[1], "total_kv": problem.k.view.shape[1],
                  "heads_q": spec["heads"]["q"], "heads_kv": spec["heads"]["kv"]}
        for name in "qkvo":
            in_pages = problem.pages and name in "kv"
            tensor = getattr(problem.pages if in_pages else problem, name)
            values[name] = tensor.pointer()
            strides = (0, 0, 0) if shape.strides == "default" else tensor.strides
            for dim, stride in zip(("page" if in_pages else "batch", "seq", "head"), strides):
                values[f"{name}_stride_{dim}"] = stride
        if problem.pages:
            values |= problem.pages.fields()
        for name, save in problem.saves.items():
            values[name] = save.pointer()
        for name, value in problem.inputs.items():
            values[name] = value.data_ptr() if hasattr(value, "data_ptr") else value
        return self.args_type(**{name: values[name] for name, _ in self.fields})

    def status_string(self, status):
        return self.string(status).decode()
