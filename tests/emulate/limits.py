#!/usr/bin/env python3
"""Holds emitted functions to the greatest numbers that docs/spec.md, section 6, allows.

No call runs: one at a limit fails the next check, since its pointers are null or there is no driver.

usage: limits.py <attngen> <c++> <folder>
"""

import ctypes
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "hold")]
from emulate import emulated, run  # noqa: E402
from specs import in_line, packed, schedule, spec  # noqa: E402
from to_host import library_command  # noqa: E402
from workspace import arguments_of  # noqa: E402

NULL_POINTER, MISALIGNED, BAD_LENGTH, BAD_STRIDE, BAD_DEVICE = 2, 3, 4, 6, 8
MOST = 2**31 - 2**16
SOMEWHERE = 4096
POINTERS = dict.fromkeys("qkvo", SOMEWHERE)
LISTS = dict.fromkeys(("token_counts", "token_indices"), SOMEWHERE)
PAGES = {**POINTERS, "page_size": 64, "num_pages": 2, "page_table": SOMEWHERE}
OFFSETS = dict.fromkeys(("cu_seqlens_q", "cu_seqlens_kv"), SOMEWHERE)

# Kernels, and of each: other fields, a field, its greatest value, the next beyond, statuses of both.
CASES = [
    (spec((4, 4)), schedule(2, 64, 2), [
        ({}, "seq_kv", MOST, MOST + 1, (NULL_POINTER, BAD_LENGTH)),
        # Tiles of all heads.
        ({}, "batch", MOST // 4, MOST // 4 + 1, (NULL_POINTER, BAD_LENGTH)),
        ({**POINTERS, "seq_q": 2, "q_stride_head": 64}, "q_stride_seq", 2**39 - 8, 2**39,
         (BAD_DEVICE, BAD_STRIDE)),
        # One stride for all: of what is read, not of what is written.
        ({**POINTERS, "seq_q": 2, "q_stride_head": 64, "q_stride_seq": 0}, "batch", 1, MOST + 1,
         (BAD_DEVICE, BAD_LENGTH)),
        ({**POINTERS, "seq_q": 2, "o_stride_head": 64}, "o_stride_seq", 8, 0,
         (BAD_DEVICE, BAD_STRIDE)),
    ]),
    # Rows of a tile: a query's heads.
    (spec((8, 2)), packed(2, 64, 2), [
        ({}, "seq_q", MOST // 4, MOST // 4 + 1, (NULL_POINTER, BAD_LENGTH)),
        ({}, "batch", MOST // 8, MOST // 8 + 1, (NULL_POINTER, BAD_LENGTH)),
    ]),
    # Of larger blocks there are never 2^25.
    (spec(blocks={"size": 64, "from": "bitmap"}), schedule(2, 32, 2), [
        ({}, "seq_kv", 2**25 * 32 - 1, 2**25 * 32, (NULL_POINTER, BAD_LENGTH)),
    ]),
    (spec(varlen=True), schedule(2, 64, 2), [
        ({}, "batch", MOST // 2, MOST // 2 + 1, (NULL_POINTER, BAD_LENGTH)),
    ]),
    (spec((2, 2), varlen=True, blocks={"size": 64, "from": "bitmap"}), schedule(2, 32, 2), [
        (OFFSETS, "max_seq_q", MOST, MOST + 1, (NULL_POINTER, BAD_LENGTH)),
        (OFFSETS, "max_seq_kv", MOST, -1, (NULL_POINTER, BAD_LENGTH)),
        (OFFSETS, "total_kv", 2**25 * 32 - 1, 2**25 * 32, (NULL_POINTER, BAD_LENGTH)),
        ({**OFFSETS, **POINTERS, "block_mask": SOMEWHERE}, "max_seq_q", MOST, -1,
         (BAD_DEVICE, BAD_LENGTH)),
    ]),
    # Of lists an int says where a row begins, in pieces of eight elements.
    (spec((2, 1), tokens={"indices": 64}), in_line(1, 64, 2), [
        ({}, "seq_q", MOST // 64, MOST // 64 + 1, (NULL_POINTER, BAD_LENGTH)),
        ({**POINTERS, "token_indices": SOMEWHERE}, "token_counts", SOMEWHERE, 0,
         (BAD_DEVICE, NULL_POINTER)),
        ({**POINTERS, "seq_kv": 0}, "token_counts", 0, 2, (BAD_DEVICE, MISALIGNED)),
        ({**POINTERS, **LISTS, "seq_kv": 2}, "k_stride_seq", 2**33 - 8, 2**33,
         (BAD_DEVICE, BAD_STRIDE)),
        ({**POINTERS, **LISTS}, "v_stride_seq", 2**33, 2**38, (BAD_DEVICE, BAD_DEVICE)),
    ]),
    (spec((2, 1), varlen=True, tokens={"indices": 64}), in_line(1, 64, 2), [
        ({**POINTERS, **OFFSETS, **LISTS}, "token_counts", SOMEWHERE, 0, (BAD_DEVICE, NULL_POINTER)),
        ({**POINTERS, **OFFSETS, "total_kv": 0}, "token_indices", 0, 2, (BAD_DEVICE, MISALIGNED)),
        ({**POINTERS, **OFFSETS, **LISTS, "total_kv": 2}, "k_stride_seq", 2**33 - 8, 2**33,
         (BAD_DEVICE, BAD_STRIDE)),
    ]),
    (spec((2, 1), kv_cache={"paged": 64}), schedule(2, 64, 2), [
        ({}, "page_size", 64, 32, (NULL_POINTER, BAD_LENGTH)),
        ({"page_size": 64}, "num_pages", MOST, MOST + 1, (NULL_POINTER, BAD_LENGTH)),
        (PAGES, "page_table_stride", 2**40, -1, (BAD_DEVICE, BAD_STRIDE)),
        (PAGES, "page_table", SOMEWHERE, SOMEWHERE + 2, (BAD_DEVICE, MISALIGNED)),
        (PAGES, "page_table", SOMEWHERE, 0, (BAD_DEVICE, NULL_POINTER)),
        ({**PAGES, "seq_kv": 0}, "page_table", 0, 2, (BAD_DEVICE, MISALIGNED)),
        ({**PAGES, "k_stride_seq": 64}, "k_stride_page", 2**39 - 8, 2**39, (BAD_DEVICE, BAD_STRIDE)),
        ({**PAGES, "v_stride_seq": 64}, "v_stride_page", 0, 4, (BAD_DEVICE, BAD_STRIDE)),
    ]),
    (spec((2, 1), kv_cache={"paged": 64}, tokens={"indices": 64}), in_line(1, 64, 2), [
        ({**PAGES, **LISTS, "k_stride_seq": 64}, "k_stride_page", 2**33 - 2056, 2**33 - 2048,
         (BAD_DEVICE, BAD_STRIDE)),
    ]),
    # Likewise where rows are copied one by one; of pages of one key the stride of keys is not read.
    (spec((2, 1), kv_cache={"paged": 1}), schedule(2, 64, 2), [
        ({**PAGES, "page_size": 1, "v_stride_page": 64}, "k_stride_page", 2**33 - 8, 2**33,
         (BAD_DEVICE, BAD_STRIDE)),
        ({**PAGES, "page_size": 1, "k_stride_page": 64}, "k_stride_seq", 4, -2**33, (BAD_DEVICE, BAD_DEVICE)),
        ({}, "page_size", 1, 8, (NULL_POINTER, BAD_LENGTH)),
    ]),
    (spec((4, 2), varlen=True), packed(2, 64, 2, split_keys=True), [
        (OFFSETS, "total_kv", MOST, MOST + 1, (NULL_POINTER, BAD_LENGTH)),
        ({**POINTERS, **OFFSETS}, "batch", MOST // 2, MOST // 2 + 1, (BAD_DEVICE, BAD_LENGTH)),
    ]),
]


def status_of(function, args, one, fields):
    """Of a call of one query and one key, but for the fields."""
    lengths = dict.fromkeys(("batch", "seq_q", "seq_kv", "total_q", "total_kv"), 1)
    heads = {f"heads_{x}": count for x, count in one["heads"].items()}
    for name, _ in args._fields_:
        setattr(args, name, {**lengths, **heads, **fields}.get(name, 0))
    args.size = ctypes.sizeof(args)
    return function(ctypes.byref(args), ctypes.c_void_p(SOMEWHERE), None)


def main():
    attngen, compiler, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    for i, (one, given, checks) in enumerate(CASES):
        place = folder / "limits" / str(i)
        host = emulated(attngen, one, given, place)
        library = place / "emulated.so"
        run([*library_command(compiler, one["dtype"], folder), "-shared", host, "-o", library])
        loaded = ctypes.CDLL(str(library))
        ctypes.c_bool.in_dll(loaded, "emulator_has_driver").value = False
        args = arguments_of(place)
        print(json.dumps(one))
        for others, field, *values, statuses in checks:
            got = tuple(status_of(loaded.emulated_forward, args, one, {**others, field: value})
                        for value in values)
            print(field, values, got)
            if got != statuses:
                sys.exit(f"instead of {statuses}")


if __name__ == "__main__":
    main()
