"""The CPU oracle, through tests/gpu/oracle_c.h."""

import ctypes

import numpy as np

DOUBLES = ctypes.POINTER(ctypes.c_double)
FLOATS = ctypes.POINTER(ctypes.c_float)
INTS = ctypes.POINTER(ctypes.c_int64)
STATUSES = {1: "a null pointer", 2: "a row out of range", 3: "an input is missing or has another "
            "size", 4: "out of memory"}


class ProblemC(ctypes.Structure):
    _fields_ = [("batch", ctypes.c_int64), ("seq_q", ctypes.c_int64), ("seq_kv", ctypes.c_int64),
                ("q", FLOATS), ("k", FLOATS), ("v", FLOATS),
                ("q_strides", ctypes.c_int64 * 3), ("k_strides", ctypes.c_int64 * 3),
                ("v_strides", ctypes.c_int64 * 3), ("input_count", ctypes.c_int64),
                ("input_names", ctypes.POINTER(ctypes.c_char_p)),
                ("input_data", ctypes.POINTER(DOUBLES)), ("input_sizes", INTS)]


class OracleLibrary:
    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        self.c.attngen_oracle_open.restype = ctypes.c_void_p
        self.c.attngen_oracle_open.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p,
                                               ctypes.c_size_t]
        self.c.attngen_oracle_close.argtypes = [ctypes.c_void_p]
        for name in ("head_dim_v", "save_count"):
            function = getattr(self.c, f"attngen_oracle_{name}")  # [] would give a new one
            function.restype, function.argtypes = ctypes.c_int64, [ctypes.c_void_p]
        self.c.attngen_oracle_save_name.restype = ctypes.c_char_p
        self.c.attngen_oracle_save_name.argtypes = [ctypes.c_void_p, ctypes.c_int64]
        self.c.attngen_oracle_rows.restype = ctypes.c_int
        self.c.attngen_oracle_rows.argtypes = [ctypes.c_void_p, ctypes.POINTER(ProblemC), INTS,
                                               ctypes.c_int64, ctypes.c_int, ctypes.c_int,
                                               DOUBLES, DOUBLES]


class Oracle:
    """Of one spec. `rows` computes rows [count, 3] of (batch, head, query)."""

    EXACT, STORAGE = 0, 1

    def __init__(self, library, spec_text, name):
        self.c = library.c
        error = ctypes.create_string_buffer(4096)
        self.handle = self.c.attngen_oracle_open(spec_text.encode(), name.encode(), error,
                                                 len(error))
        if not self.handle:
            raise ValueError(f"the oracle refuses {name}: {error.value.decode()}")
        self.head_dim_v = self.c.attngen_oracle_head_dim_v(self.handle)
        self.save_names = [self.c.attngen_oracle_save_name(self.handle, i).decode()
                           for i in range(self.c.attngen_oracle_save_count(self.handle))]

    def __del__(self):
        if getattr(self, "handle", None):
            self.c.attngen_oracle_close(self.handle)

    def rows(self, problem, rows, arithmetic, threads):
        """O [count, head_dim.v] and the saves [count, len(save_names)], both float64."""
        c, kept = self.problem_c(problem)
        rows = np.ascontiguousarray(rows, np.int64)
        o = np.full((len(rows), self.head_dim_v), np.nan)
        saves = np.full((len(rows), len(self.save_names)), np.nan)
        status = self.c.attngen_oracle_rows(self.handle, ctypes.byref(c),
                                            rows.ctypes.data_as(INTS), len(rows), arithmetic,
                                            threads, o.ctypes.data_as(DOUBLES),
                                            saves.ctypes.data_as(DOUBLES))
        del kept
        if status != 0:
            raise ValueError(f"oracle: {STATUSES.get(status, status)}")
        return o, saves

    @staticmethod
    def problem_c(problem):
        """The struct, and what its pointers need kept alive."""
        shape = problem.shape
        c = ProblemC(batch=shape.batch, seq_q=shape.seq_q, seq_kv=shape.seq_kv)
        for name in "qkv":
            array = getattr(problem, f"host_{name}")  # [batch, seq, heads, dim]
            _, seq, heads, dim = array.shape
            setattr(c, name, array.ctypes.data_as(FLOATS))
            setattr(c, f"{name}_strides", (ctypes.c_int64 * 3)(seq * heads * dim, heads * dim, dim))
        inputs = problem.host_inputs
        names = (ctypes.c_char_p * len(inputs))(*(name.encode() for name in inputs))
        data = (DOUBLES * len(inputs))(*(a.ctypes.data_as(DOUBLES) for a in inputs.values()))
        sizes = (ctypes.c_int64 * len(inputs))(*(a.size for a in inputs.values()))
        c.input_count, c.input_names, c.input_data, c.input_sizes = len(inputs), names, data, sizes
        return c, (names, data, sizes)
