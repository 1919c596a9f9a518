#!/usr/bin/env python3
"""Calls Llama 3 8B's attention on PyTorch's tensors, by ctypes and the kernel's manifest.

usage: attend.py <library.so> <manifest.json>
"""
import ctypes as C
import json
import sys

import torch

# The manifest's C types that are numbers; all others are pointers.
NUMBERS = {"size_t": C.c_size_t, "int64_t": C.c_int64, "int32_t": C.c_int32, "float": C.c_float,
           "uint8_t": C.c_uint8}

library, manifest = C.CDLL(sys.argv[1]), json.load(open(sys.argv[2], encoding="utf-8"))
call = manifest["passes"][0]


class Args(C.Structure):
    _fields_ = [(f["name"], NUMBERS.get(f["c_type"], C.c_void_p)) for f in call["args"]["fields"]]


workspace, forward = (getattr(library, f["name"]) for f in call["functions"])
workspace.argtypes, workspace.restype = [C.POINTER(Args)], C.c_size_t
forward.argtypes = [C.POINTER(Args), C.c_void_p, C.c_void_p]
texts = {status["value"]: status["text"] for status in manifest["statuses"]}


def attend(q, k, v):
    """Of [batch, seq, heads, head dim], in any strides that the kernel takes."""
    o = torch.empty(*q.shape[:3], v.shape[3], dtype=q.dtype, device=q.device)
    args = Args(size=C.sizeof(Args), batch=q.shape[0], seq_q=q.shape[1], seq_kv=k.shape[1],
                heads_q=q.shape[2], heads_kv=k.shape[2])
    for name, x in {"q": q, "k": k, "v": v, "o": o}.items():
        setattr(args, name, x.data_ptr())
        for i, dim in enumerate(("batch", "seq", "head")):
            setattr(args, f"{name}_stride_{dim}", x.stride(i))
    # PyTorch gives this memory only to later work of the same stream: it need not be kept.
    space = torch.empty(workspace(args), dtype=torch.uint8, device=q.device)
    if status := forward(args, space.data_ptr(), torch.cuda.current_stream().cuda_stream):
        raise RuntimeError(texts[status])
    return o


torch.manual_seed(1)
q, k, v = (torch.randn(2, 1000, heads, 128, dtype=torch.bfloat16, device="cuda")
           for heads in (32, 8, 8))
result = attend(q, k, v).float()
q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
k, v = (x.repeat_interleave(4, dim=1) for x in (k, v))  # four query heads share a key head
expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
torch.testing.assert_close(result, expected.transpose(1, 2), rtol=0.01, atol=0.02)
print(f"largest error: {(result - expected.transpose(1, 2)).abs().max().item():.1e}")
