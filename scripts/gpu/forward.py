"""The speed cases: a kernel for each, since the search optimises for a workload."""

from dataclasses import dataclass

from gpu.case import CAUSAL, Case, make_spec, schedule


@dataclass(frozen=True)
class BenchCase:
    name: str
    head_dim: tuple
    heads: tuple
    batch: int
    seq: int
    causal: bool
    dtype: str = "bf16"
    rows: int = 0  # queries, if fewer than keys
    schedule: dict = None  # or the search's
    share_kv: bool = False  # values are the keys' first columns

    @property
    def seq_q(self):
        return self.rows or self.seq

    def case(self):
        spec = make_spec(self.name, self.head_dim, self.heads, self.dtype,
                         mask=CAUSAL if self.causal else None,
                         share_kv={"v_prefix": self.head_dim[1]} if self.share_kv else None,
                         workload={"batch": self.batch, "seq_q": self.seq_q, "seq_kv": self.seq})
        return Case(self.name, spec, "bench", mask="causal" if self.causal else "full",
                    schedule=self.schedule, data=self.name)

    def flop(self):
        """Causal counts half the pairs of queries on their own keys, as is usual."""
        qk, v = self.head_dim
        pairs = self.seq_q * (self.seq - (self.seq_q / 2 if self.causal else 0))
        return 2.0 * self.batch * self.heads[0] * pairs * (qk + v)


BENCH_TOKENS, BENCH_WIDTH = 16384, 2048  # batch * length, heads * head dim


def multi_head_bench(dim, seq, dtype="bf16"):
    heads = BENCH_WIDTH // dim
    for causal in (False, True):
        kind = "" if dtype == "bf16" else f"{dtype}_"
        name = f"bench_{kind}d{dim}_s{seq}_{'causal' if causal else 'full'}"
        yield BenchCase(name, (dim, dim), (heads, heads), BENCH_TOKENS // seq, seq, causal, dtype)


# FlashAttention-3's time to cuDNN's, measured on an H200 (2026-11-20, FlashAttention 0251105a, nvcc
# 13.0): it is not run beside these. At 512 keys its own TFLOP/s that day, without cuDNN beside it.
FA3_TO_CUDNN = {
    "d64_s1024_full": 0.87, "d64_s1024_causal": 0.88, "d64_s4096_full": 1.04,
    "d64_s4096_causal": 1.05, "d64_s16384_full": 1.13, "d64_s16384_causal": 1.15,
    "d128_s1024_full": 1.03, "d128_s1024_causal": 1.04, "d128_s4096_full": 1.08,
    "d128_s4096_causal": 1.10, "d128_s16384_full": 1.08, "d128_s16384_causal": 1.13,
    "d256_s1024_full": 1.04, "d256_s1024_causal": 1.03, "d256_s4096_full": 1.03,
    "d256_s4096_causal": 1.09, "d256_s16384_full": 1.09, "d256_s16384_causal": 1.17,
    "llama8b_s2048_causal": 1.16, "llama8b_s8192_causal": 1.14, "llama70b_s16384_causal": 1.12,
    "llama70b_s16384_full": 1.13}
FA3_TFLOPS = {"d64_s512_full": 323.7, "d64_s512_causal": 222.8, "d128_s512_full": 511.8,
              "d128_s512_causal": 324.0, "d256_s512_full": 520.7, "d256_s512_causal": 338.8}


def few_rows_bench():
    """Few queries against many keys: as the search has it, and the same tile with the query heads
    apart and packed.
    """
    for rows, tile in ((16, (1, 128, 3)), (128, (2, 128, 2))):
        given = schedule(*tile, ping_pong=tile[0] > 1)
        for kind, one in (("", None), ("_apart", given), ("_packed", {**given, "pack_heads": True})):
            yield BenchCase(f"bench_llama70b_q{rows}_s8192_full{kind}", (128, 128), (64, 8), 8, 8192,
                            False, rows=rows, schedule=one)


def long_cache_bench():
    """One query of each head, or a few, on many keys."""
    for batch, heads, rows, seq in ((1, (32, 8), 1, 8192), (16, (32, 8), 1, 8192),
                                    (64, (32, 8), 1, 8192), (16, (64, 8), 1, 32768),
                                    (128, (32, 32), 1, 2048), (16, (32, 1), 1, 8192),
                                    (16, (71, 1), 1, 8192), (16, (128, 1), 1, 8192),
                                    (1, (28, 4), 1, 8192), (16, (28, 4), 1, 8192),
                                    (64, (40, 8), 1, 8192),
                                    (1, (32, 8), 1, 131072), (1, (64, 8), 16, 8192),
                                    (1, (64, 8), 16, 65536), (1, (8, 8), 128, 16384),
                                    (1, (8, 8), 512, 16384)):
        name = f"bench_cache_b{batch}_h{heads[0]}_{heads[1]}_q{rows}_s{seq}"
        yield BenchCase(name, (128, 128), heads, batch, seq, False, rows=rows)
        if batch == 1:  # a tile has all its keys
            whole = schedule(1, 128, 2, ping_pong=False)
            packs = {"pack_heads": True} if heads[0] > heads[1] else {}
            yield BenchCase(f"{name}_whole", (128, 128), heads, batch, seq, False, rows=rows,
                            schedule={**whole, **packs})


def wide_cache_bench():
    """The same of values wider than 256, that stand beside the keys."""
    for batch, heads, dims, seq in ((64, 128, (512, 512), 4096), (8, 128, (512, 512), 8192),
                                    (1, 128, (512, 512), 65536), (64, 16, (512, 512), 4096),
                                    (64, 128, (128, 512), 4096)):
        yield BenchCase(f"bench_wide_cache_b{batch}_h{heads}_1_s{seq}_d{dims[0]}_{dims[1]}", dims,
                        (heads, 1), batch, seq, False, rows=1)


# FlashMLA's milliseconds, measured on an H200 (2026-11-20, FlashMLA 9241ae3e, nvcc 13.0, pages of 64
# keys): it is not run beside these.
FLASH_MLA_MS = {"latent_b1_h128_q1_s8192": 0.0300, "latent_b8_h128_q1_s8192": 0.0514,
                "latent_b128_h128_q1_s4096": 0.2543, "latent_b128_h16_q1_s4096": 0.1691,
                "latent_b128_h128_q2_s4096": 0.5033}


def latent_bench():
    """Latent attention (MLA): keys of 576 columns whose first 512 are the values."""
    for batch, heads, rows, seq in ((1, 128, 1, 8192), (8, 128, 1, 8192), (32, 128, 1, 8192),
                                    (128, 128, 1, 4096), (128, 128, 2, 4096), (128, 16, 1, 4096),
                                    (64, 64, 1, 8192), (1, 128, 2048, 8192)):
        yield BenchCase(f"bench_latent_b{batch}_h{heads}_q{rows}_s{seq}", (576, 512), (heads, 1),
                        batch, seq, False, rows=rows, share_kv=True)


def chunk_bench():
    """The last few hundred queries of many keys: prompts that come in chunks."""
    for heads, rows, seq in (((32, 8), 128, 32768), ((32, 8), 512, 32768), ((64, 8), 512, 32768),
                             ((28, 4), 512, 32768), ((32, 8), 2048, 32768)):
        name = f"bench_chunk_h{heads[0]}_{heads[1]}_q{rows}_s{seq}"
        yield BenchCase(name, (128, 128), heads, 1, seq, True, rows=rows)
    # One query of more heads than there are cores.
    yield BenchCase("bench_chunk_b4_h40_40_q1_s16384", (128, 128), (40, 40), 4, 16384, True, rows=1)


def short_bench():
    """Calls of one to seven tiles a core."""
    for heads, dim, rows, seq in ((16, 64, 0, 2048), (16, 128, 0, 2048), (16, 128, 1024, 8192),
                                  (24, 128, 0, 4608)):
        queries = f"_q{rows}" if rows else ""
        yield BenchCase(f"bench_b1_h{heads}_d{dim}{queries}_s{seq}_full", (dim, dim), (heads, heads),
                        1, seq, False, rows=rows)


def bench_cases():
    for dim in (64, 128, 256):
        for seq in (512, 1024, 4096, 16384):
            yield from multi_head_bench(dim, seq)
    for dim in (96, 192):
        for seq in (1024, 4096, 16384):
            yield from multi_head_bench(dim, seq)
    for dim in (72, 136):  # no multiple of 16
        yield from multi_head_bench(dim, 4096)
    for dim in (64, 128):
        yield from multi_head_bench(dim, 4096, "fp16")
    for seq in (2048, 8192):
        yield BenchCase(f"bench_llama8b_s{seq}_causal", (128, 128), (32, 8), BENCH_TOKENS // seq,
                        seq, True)
    for causal in (True, False):
        yield BenchCase(f"bench_llama70b_s16384_{'causal' if causal else 'full'}", (128, 128),
                        (64, 8), 1, 16384, causal)
    yield from few_rows_bench()
    yield from long_cache_bench()
    yield from wide_cache_bench()
    yield from latent_bench()
    yield from chunk_bench()
    yield from short_bench()
    yield BenchCase("bench_mla_prefill_s4096_causal", (192, 128), (16, 16), BENCH_TOKENS // 4096,
                    4096, True)
