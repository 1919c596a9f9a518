"""The kernels that the GPU check holds to the oracle, as data.

A covering design, not the full product: every head dim with both storage types and every mask, the
head ratios and layouts spread over them (Latin squares), then the scores, masks and normalisers
that no fixed kernel has, five specs under a dozen schedules each, and random specs.
"""

from gpu import own_specs
from gpu.case import CAUSAL, DTYPES, HEADS, LAYOUTS, MASKS, Case, dim_text, make_spec, schedule
from gpu.random_hopper import random_cases
from gpu.schedule_cases import agree_cases, packed_cases, split_cases, walk_cases
from gpu.variant_cases import DIFFERENTIAL, variant_cases
from gpu.variant_parts import RETENTION_ROWS, row_free
from gpu.variants import file_cases

GROUPS = ["base", "variant", "packed", "split", "agree", "random", "sanitize"]
HEAD_DIMS = [(40, 40), (64, 64), (72, 72), (80, 80), (96, 96), (128, 128), (160, 160), (192, 128),
             (256, 256), (136, 136), (160, 72)]


def base_cases():
    """Every head dim under every mask; type, ratio and layout alternate so that pairs are met."""
    ratios = list(HEADS)
    for i, head_dim in enumerate(HEAD_DIMS):
        for j, mask in enumerate(MASKS):
            dtype = DTYPES[(i + j) % 2]
            ratio = ratios[(i + (0, 1, 3, 2)[j]) % 4]
            layout = LAYOUTS[(i // 4 + j // 2) % 2]
            name = f"{dim_text(head_dim)}_{mask}_{ratio}_{dtype}_{layout}"
            spec = make_spec(name, head_dim, HEADS[ratio], dtype, layout, mask=MASKS[mask])
            yield Case(name, spec, "base", mask=mask, data=name)


def sanitize_cases():
    """Small kernels for tests/gpu/sanitize_driver.cpp, which fills biases and lists."""
    specs = [("full", (128, 128), (2, 2), "bf16", {}),
             ("causal", (64, 64), (4, 1), "fp16", {"mask": MASKS["causal"]}),
             ("window", (72, 72), (2, 1), "bf16", {"mask": MASKS["window"], "layout": "bhsd"}),
             ("sigmoid", (128, 128), (2, 2), "bf16", {"normalize": row_free("sigmoid(score)")})]
    for what, head_dim, heads, dtype, rest in specs:
        name = f"sanitize_{what}"
        yield Case(name, make_spec(name, head_dim, heads, dtype, **rest), "sanitize", data=name)
    maps = make_spec("sanitize_maps", (64, 64), (2, 1), maps=2, mask=CAUSAL, normalize={
        **DIFFERENTIAL, "output": "acc / l * (1 if map == 0 else -0.5)"})
    yield Case(maps["name"], maps, "sanitize", data=maps["name"],
               schedule=schedule(4, 64, 2, order="longest_first"))
    far = make_spec("sanitize_far", (128, 128), (2, 1), mask=CAUSAL, normalize={
        key: value for key, value in RETENTION_ROWS.items() if key != "save"},
                    score="score * exp((kv_idx - q_pos) / 100)")
    yield Case(far["name"], far, "sanitize", data=far["name"],
               schedule=schedule(3, 64, 4, order="longest_first"))
    wide = {**far, "name": "sanitize_wide", "head_dim": {"qk": 64, "v": 384}}
    yield Case(wide["name"], wide, "sanitize", data=wide["name"],
               schedule=schedule(2, 64, 2, order="longest_first"))
    bias = make_spec("sanitize_bias", (64, 64), (2, 2), mask=CAUSAL, inputs={
        "bias": {"dtype": "bf16", "shape": ["heads", "seq_q", "seq_kv"]}},
        score="score + bias[h, q_idx, kv_idx]")
    yield Case(bias["name"], bias, "sanitize", {"bias": {"fill": "normal"}}, longest=1000,
               data=bias["name"])
    strips = make_spec("sanitize_strips", (64, 64), (2, 2), mask=CAUSAL, inputs={
        "key": {"dtype": "bf16", "shape": ["batch", "seq_kv"]}},
        score="score + key[b, kv_idx] - log(1 + abs(q_pos - kv_idx))")
    yield Case(strips["name"], strips, "sanitize", {"key": {"fill": "normal"}}, data=strips["name"],
               schedule=schedule(3, 64, 2, ping_pong=False, order="longest_first"))
    nearest = make_spec("sanitize_nearest", (64, 64), (2, 1), inputs={
        "key": {"dtype": "bf16", "shape": ["batch", "seq_kv"]}},
        score="score * exp(key[b, kv_idx]) + sin(key[b, kv_idx]) - abs(q_pos - kv_idx) / 4")
    yield Case(nearest["name"], nearest, "sanitize", {"key": {"fill": "normal"}},
               data=nearest["name"], schedule=schedule(3, 64, 2, order="longest_first"))
    tables = make_spec("sanitize_tables", (64, 64), (2, 2), mask=CAUSAL, inputs={
        "rel": {"dtype": "bf16", "shape": ["batch", "heads", "seq_q", 33]}},
        score="score + rel[b, h, q_idx, clamp(kv_idx - q_pos, -16, 16) + 16]")
    yield Case(tables["name"], tables, "sanitize", {"rel": {"fill": "normal"}}, data=tables["name"])
    shifted = make_spec("sanitize_shifted", (64, 64), (2, 2), mask=CAUSAL, inputs={
        "bd": {"dtype": "bf16", "shape": ["heads", "seq_q", 601]}},
        score="score + bd[h, q_idx, kv_idx - q_idx + 300]")
    yield Case(shifted["name"], shifted, "sanitize", {"bd": {"fill": "normal"}}, longest=1000,
               data=shifted["name"])
    ids = make_spec("sanitize_ids", (64, 64), (2, 2), inputs={
        "doc": {"dtype": "i32", "shape": ["batch", "seq_q"]},
        "key_doc": {"dtype": "i32", "shape": ["batch", "seq_kv"]}},
        mask="doc[b, q_idx] == key_doc[b, kv_idx] and kv_idx <= q_pos")
    yield Case(ids["name"], ids, "sanitize", {
        name: {"fill": "documents_anyhow"} for name in ("doc", "key_doc")},
               data=ids["name"])
    mask = make_spec("sanitize_mask", (64, 64), (2, 2), inputs={
        "keep": {"dtype": "u8", "shape": ["heads", "seq_q", "seq_kv"]}},
        mask="kv_idx <= q_pos and keep[h, q_idx, kv_idx] > 0")
    yield Case(mask["name"], mask, "sanitize", {"keep": {"fill": "bits"}}, longest=1000,
               data=mask["name"])
    bits = make_spec("sanitize_bits", (64, 64), (4, 4), inputs={
        "keep": {"dtype": "u8", "shape": ["batch", "seq_q", "seq_kv"]}},
        mask="kv_idx <= q_pos and keep[b, q_idx, kv_idx] > 0")
    yield Case(bits["name"], bits, "sanitize", {"keep": {"fill": "patches"}}, longest=1000,
               data=bits["name"])
    sparse = make_spec("sanitize_sparse", (128, 128), (4, 2), mask=CAUSAL, blocks={
        "size": 64, "from": "indices", "per": "heads_kv"})
    yield Case(sparse["name"], sparse, "sanitize", data=sparse["name"], schedule={
        **schedule(2, 128, 2, ping_pong=False, order="longest_first"), "pack_heads": True})
    selected = make_spec("sanitize_selected", (64, 64), (16, 2), mask=CAUSAL, blocks={
        "size": 64, "queries": 1, "from": "indices", "per": "heads_kv"})
    # As many slots as the driver's calls have blocks: racecheck does not follow their reuse.
    yield Case(selected["name"], selected, "sanitize", data=selected["name"], schedule={
        **schedule(3, 64, 5, ping_pong=False, order="longest_first"), "pack_heads": True})
    paged = make_spec("sanitize_paged", (64, 64), (4, 1), mask=CAUSAL, kv_cache={"paged": 16})
    yield Case(paged["name"], paged, "sanitize", data=paged["name"], schedule={
        **schedule(1, 64, 2, ping_pong=False, order="longest_first"), "split_keys": True})
    lists = make_spec("sanitize_lists", (64, 64), (16, 2), mask=CAUSAL, tokens={"indices": 128})
    yield Case(lists["name"], lists, "sanitize", data=lists["name"],
               schedule={
        **schedule(1, 32, 4, ping_pong=False, grid="plain"), "pack_heads": True})
    listed = make_spec("sanitize_listed", (64, 64), (16, 2), mask=CAUSAL,
                       tokens={"indices": 128, "distinct": True})
    yield Case(listed["name"], listed, "sanitize", data=listed["name"], schedule={
        **schedule(2, 64, 5, ping_pong=False, order="longest_first"), "lists_as_mask": True})
    latent = make_spec("sanitize_latent", (448, 384), (16, 2), mask=CAUSAL,
                       share_kv={"v_prefix": 384}, tokens={"indices": 128})
    yield Case(latent["name"], latent, "sanitize", data=latent["name"], schedule={
        **schedule(2, 32, 4, weights="shared", overlap="none", ping_pong=False, grid="plain"),
        "pack_heads": True})
    sides = make_spec("sanitize_sides", (448, 384), (4, 1), mask=CAUSAL, share_kv={"v_prefix": 384})
    yield Case(sides["name"], sides, "sanitize", data=sides["name"], schedule={
        **schedule(2, 32, 4, weights="shared", overlap="none", ping_pong=False,
                   order="longest_first"), "split_keys": True})
    heads = make_spec("sanitize_heads", (64, 64), (4, 2), inputs={
        "bias": {"dtype": "bf16", "shape": ["heads", "seq_q", "seq_kv"]}},
        score="score + bias[h, q_idx, kv_idx]")
    yield Case(heads["name"], heads, "sanitize", {"bias": {"fill": "normal"}}, longest=1000,
               data=heads["name"], schedule={
        **schedule(2, 64, 2, ping_pong=False, order="longest_first"), "pack_heads": True})
    both = make_spec("sanitize_maps_split", (64, 64), (4, 1), maps=2, inputs={
        "key": {"dtype": "bf16", "shape": ["batch", "seq_kv"]}}, mask=CAUSAL,
        score="score * exp(key[b, kv_idx] / (h + 8))", normalize={
        **DIFFERENTIAL, "output": "acc / l * (1 if map == 0 else -0.5)"})
    yield Case(both["name"], both, "sanitize", {"key": {"fill": "normal"}}, data=both["name"],
               schedule={**schedule(2, 64, 2, ping_pong=False, order="longest_first"),
                         "pack_heads": True, "split_keys": True})
    split = make_spec("sanitize_split", (64, 64), (4, 1), mask=CAUSAL)
    yield Case(split["name"], split, "sanitize", data=split["name"], schedule={
        **schedule(2, 64, 2, order="longest_first"), "split_keys": True})


def cases_of(index):
    """What a build of build_gpu_cases.py is of: specs of a user, or all cases of a draw."""
    return own_specs.of_index(index["specs"]) if index.get("specs") else all_cases(index.get("draw", ""))


def all_cases(draw=""):
    """Those of the check, or random specs of another draw, "SEED:COUNT"."""
    if draw:
        seed, count = draw.split(":")
        return list(random_cases(seed, int(count)))
    return [*base_cases(), *variant_cases(), *file_cases(), *packed_cases(), *split_cases(),
            *agree_cases(), *walk_cases(), *random_cases(), *sanitize_cases()]
