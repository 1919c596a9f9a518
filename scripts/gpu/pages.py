"""A cache in pages: the keys and values of a call as a kernel reads them through a table."""

import numpy as np
import torch

from gpu.guarded import Guarded, strides_of

OF_NOBODY = 3  # pages
NO_PAGES = (-2**31, 2**31 - 1)  # what stands in the table behind a sequence's pages


def page_size(spec):
    """0: keys and values are contiguous."""
    cache = spec.get("kv_cache", "contiguous")
    return 0 if cache == "contiguous" else cache["paged"]


class Pages:
    """`k` and `v`, [batch, seq, heads, dim] or packed (`begins`), laid out in pages in no order; what no
    key fills is NaN.
    """

    def __init__(self, problem, begins, random):
        """`problem`: a tensors.Problem without its pages. `begins`: [batch + 1] of packed sequences."""
        spec, shape, device = problem.case.spec, problem.shape, problem.k.bytes.device
        self.size = page_size(spec)
        lengths = np.diff(begins) if begins is not None else np.full(shape.batch, shape.seq_kv)
        used = -(-lengths // self.size)
        by_default = begins is None and shape.strides == "default"
        width = int(used.max(initial=0)) + (0 if by_default else 2)
        self.table_stride = 0 if by_default else width
        self.count = int(used.sum()) + OF_NOBODY
        order = torch.randperm(self.count, generator=random, device=device)
        self.table = torch.full((shape.batch, width), NO_PAGES[0], dtype=torch.int32, device=device)
        self.table[:, ::2] = NO_PAGES[1]
        first = np.concatenate([[0], np.cumsum(used)])  # of each sequence, among the pages in use
        for b in range(shape.batch):
            self.table[b, :used[b]] = order[int(first[b]):int(first[b + 1])]
        # Where each key of the tensors goes: [keys] of (batch, row), and (page, row).
        sequence = np.repeat(np.arange(shape.batch), lengths)
        key = np.concatenate([np.arange(n) for n in lengths]) if len(lengths) else sequence
        row = key if begins is None else begins[sequence] + key
        batch = sequence if begins is None else np.zeros_like(sequence)
        place = torch.tensor(np.stack([batch, row, sequence, key // self.size, key % self.size]),
                             dtype=torch.int64, device=device)
        page = self.table[place[2], place[3]].long()
        self.k, self.v = (self.laid_out(tensor, place, page, problem) for tensor in (problem.k, problem.v))

    def laid_out(self, tensor, place, page, problem):
        heads, dim = tensor.view.shape[2:]
        spec, kind = problem.case.spec, problem.shape.strides
        kind = "padded" if kind == "shared" else kind
        pages = Guarded((self.count, self.size, heads, dim),
                        strides_of(kind, spec["layout"], self.size, heads, dim), spec["dtype"],
                        tensor.bytes.device)
        pages.view[page, place[4]] = tensor.view[place[0], place[1]]
        return pages

    def fields(self):
        """Of the argument struct."""
        return {"page_size": self.size, "num_pages": self.count, "page_table": self.table.data_ptr(),
                "page_table_stride": self.table_stride}
