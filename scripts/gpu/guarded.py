"""Strided tensors in guarded memory."""

import torch

GUARD_BYTES = 4096  # before and after each tensor
POISON = 0xFF  # NaN in bf16, fp16 and fp32
STORAGE = {"bf16": torch.bfloat16, "fp16": torch.float16, "f32": torch.float32,
           "i32": torch.int32, "u8": torch.uint8}


class Guarded:
    """A strided tensor [batch, seq, heads, dim] inside poisoned memory: reading around it gives
    NaN, writing around it shows.
    """

    def __init__(self, shape, strides, dtype, device):
        batch, seq, heads, dim = shape
        stride_batch, stride_seq, stride_head = strides
        element = STORAGE[dtype].itemsize
        reach = (max(batch - 1, 0) * stride_batch + max(seq - 1, 0) * stride_seq
                 + max(heads - 1, 0) * stride_head + dim)
        self.bytes = torch.full((reach * element + 2 * GUARD_BYTES,), POISON, dtype=torch.uint8,
                                device=device)
        inner = self.bytes[GUARD_BYTES:GUARD_BYTES + reach * element].view(STORAGE[dtype])
        self.view = inner.as_strided(shape, (*strides, 1))
        self.strides = strides
        self.own = self.view if stride_batch else self.view[:1]  # each element once

    def pointer(self):
        return self.bytes.data_ptr() + GUARD_BYTES

    def poison(self):
        self.bytes.fill_(POISON)

    def take(self):
        """The tensor, contiguous, and whether the memory around it was left alone. Poisons it."""
        value = self.view.clone().contiguous()
        # As integers: a copy of a float NaN need not keep its bits.
        integer = {2: torch.int16, 4: torch.int32}[self.view.element_size()]
        inner = self.bytes[GUARD_BYTES:self.bytes.numel() - GUARD_BYTES].view(integer)
        inner.as_strided(self.view.shape, self.view.stride()).fill_(-1)
        return value, bool((self.bytes == POISON).all())


def strides_of(kind, layout, seq, heads, dim):
    """Strides (batch, seq, head) in elements, multiples of 8, of a tensor in the spec's layout."""
    seq = max(seq, 1)
    if kind == "swapped":
        layout = "bhsd" if layout == "bshd" else "bshd"
    pad = 0 if kind in ("default", "explicit") else 8
    inner = dim + pad
    if layout == "bshd":
        outer = heads * inner + 2 * pad
        return (seq * outer + 3 * pad, outer, inner)
    outer = seq * inner + 2 * pad
    return (heads * outer + 3 * pad, inner, outer)
