#include "emit/values.h"

#include <cstdint>

#include "attention/pair_form.h"
#include "attention/tiles.h"
#include "emit/user_functions.h"
#include "expr/decimal.h"
#include "expr/expr.h"
#include "schedule/resources.h"
#include "schedule/search.h"
#include "schedule/units.h"

namespace attngen::emit {

using expr::float_literal;

Values template_values(const spec::Spec& spec, const attention::RowForm& rows,
                       const schedule::Candidate& candidate) {
  const schedule::Schedule& schedule = candidate.schedule;
  const bool plain = is_plain_score(spec);
  const bool masked = is_masked(spec);
  Values values;
  const auto put = [&](const char* name, int64_t value) {
    values[std::string("ATTN_") + name] = std::to_string(value);
  };
  put("BF16", spec.dtype == spec::DType::Bf16);
  put("HEAD_DIM_QK", spec.head_dim.qk);
  const schedule::ValueParts parts = schedule::value_parts(spec.head_dim.v);
  put("HEAD_DIM_V", parts.columns);
  put("VALUE_PARTS", parts.count);
  put("OUTPUT_DIM", spec.head_dim.v);
  put("MAPS", spec.maps);
  put("HEADS_Q", spec.heads.q);
  put("HEADS_KV", spec.heads.kv());
  put("LAYOUT_BHSD", spec.layout == spec::Layout::Bhsd);
  values["ATTN_SCALE"] = float_literal(spec.scale);
  put("FIXED_BATCH", spec.fixed.batch.value_or(0));  // 0: any
  put("FIXED_SEQ_Q", spec.fixed.seq_q.value_or(0));
  put("FIXED_SEQ_KV", spec.fixed.seq_kv.value_or(0));

  put("TILE_KV", schedule.tile_kv);
  put("WARPGROUPS", schedule.warpgroups);
  put("STAGES", schedule.stages);
  put("WEIGHTS_SHARED", schedule.weights == schedule::Place::Shared);
  put("INTRA_OVERLAP", schedule.overlap == schedule::Overlap::IntraWarpgroup);
  put("PING_PONG", schedule.ping_pong);
  put("PERSISTENT", schedule.grid == schedule::Grid::Persistent);
  put("LONGEST_FIRST", schedule.order == schedule::Order::LongestFirst);
  put("PACKED_HEADS", schedule.pack_heads);
  // A mask may give each warpgroup's rows keys of their own.
  const bool sparse = spec.block_size > 0;
  const bool walks = sparse || (has_walk(spec) && !has_searched_limits(spec, rows));
  put("TRIMMED", masked && schedule.row_blocks() > 1 && !walks);
  put("PRODUCER_REGISTERS", candidate.resources.producer_registers);
  put("CONSUMER_REGISTERS", candidate.resources.consumer_registers);
  put("WAVES_PER_SIMD", candidate.resources.waves_per_simd);

  put("EXPONENTIAL", rows.exponential);
  put("FIXED_MAX", candidate.resources.fixed_max);
  put("QUERY_STAGES", candidate.resources.query_stages);
  put("BLOCKS_PER_CORE", candidate.resources.blocks_per_core);
  put("PLAIN_SCORE", plain);
  const auto family =
      candidate.resources.waves_per_simd > 0 ? target::Family::Cdna2 : target::Family::Hopper;
  const attention::PairForm pairs = attention::pair_form(
      spec, rows,
      schedule::pair_abilities(family, candidate.resources.near, candidate.resources.far,
                               candidate.resources.strips));
  put("BIAS", pairs.bias.has_value());
  put("KEY_STRIP", bool{pairs.of_key});
  put("DISTANCE_STRIP", bool{pairs.of_distance});
  put("STRIPS", pairs.has_strips());
  using Element = spec::Input::Element;
  const Element bias = pairs.bias ? pairs.bias->input.element : Element::Bf16;
  put("BIAS_BYTES", bias == Element::F32 ? 4 : 2);
  put("BIAS_FP16", bias == Element::Fp16);
  put("POSITIVE_PART", pairs.positive_part);
  put("NEAR_LOGISTIC", pairs.near_logistic.has_value());
  put("NEAR_CAP", pairs.near_cap.has_value());
  const attention::NearCap cap = pairs.near_cap.value_or(attention::NearCap{});
  put("QUERY_SHIFT", cap.query_shift);
  values["ATTN_NEAR_LINEAR"] = float_literal(cap.linear);
  values["ATTN_NEAR_CUBIC"] = float_literal(cap.cubic);
  values["ATTN_NEAR_HIGHEST"] = float_literal(cap.highest - attention::kNearCapRoom);
  put("NEAR_ROOM", int64_t{1} << attention::kNearCapRoom);
  put("FAR", pairs.far.has_value());
  const bool far_sums = pairs.far && !rows.reductions.empty();
  put("FAR_SUMS", far_sums);
  put("FAR_QUERIES", schedule::holds_far_queries(far_sums, spec.head_dim.qk));
  put("STATE_COLUMNS", schedule::state_columns(far_sums, spec.head_dim.qk));
  put("CHUNK_KEYS", schedule::chunk_keys(spec.head_dim.qk));
  put("FEWEST_FAR_QUERIES", schedule::fewest_far_queries(far_sums, spec.head_dim.qk));
  put("RECOMPUTE", candidate.resources.fixed_max || candidate.resources.near);
  put("AFFINE_SCORE", rows.exponential && !plain && pairs.affine);
  values["ATTN_EXPONENT_UNIT"] = float_literal(pairs.unit);
  put("ROW_CONSTANTS", !pairs.constants.empty());
  put("LINES", pairs.has_lines());
  put("COLUMNS", pairs.reads(attention::kColumn));
  put("MASKED", masked);
  put("MASK_LOADS", !expr::inputs_of(pairs.mask).empty());
  put("INTERVAL_MASK", is_interval(spec));
  put("SEARCHED_LIMITS", has_searched_limits(spec, rows));
  put("WALK", walks);
  put("BLOCK_TEST", has_block_test(spec));
  put("ID_TABLES", static_cast<int64_t>(id_tables(spec)));
  const attention::KeyRange range = attention::key_range(spec.mask, spec.inputs);
  const bool from_first = range.begin.is_number(0);
  put("KEYS_FROM_FIRST", from_first);
  // From the first key on, where all tiles of a head begin there and end apart. A maximum is kept
  // over the blocks that follow: scores that vary with the key may be largest at the last ones.
  const bool level = rows.row_free() || !expr::mentions(spec.score, "kv_idx");
  // Far keys come before the others.
  put("ASCENDING", pairs.far || (masked && from_first && !walks && level));
  // Whether the mask's limits may cut the last blocks of keys of a tile, and the first ones.
  const bool cut = rows.exponential && masked && is_interval(spec);
  put("CUT_LAST", cut);
  put("CUT_FIRST", cut && !range.full_begin.is_number(0));
  put("ROW_FREE", rows.row_free());
  // A row's maximum may still be -inf after a block: its pairs are masked, or score -inf.
  put("EMPTY_ROWS", rows.empty != attention::EmptyTest::None && (masked || !plain));
  put("INPUTS", !spec.inputs.empty());
  put("SAVES", static_cast<int64_t>(rows.saves.size()));

  put("VARLEN", spec.varlen);
  // Another kernel comes first: it makes tables or states, or clears the counter of tiles.
  const bool counts = schedule.grid == schedule::Grid::Persistent &&
                      schedule.order == schedule::Order::LongestFirst;
  put("PREPARES", counts || spec.varlen || id_tables(spec) > 0 || pairs.far);
  put("SPARSE", sparse);
  put("SPARSE_BITMAP", spec.sparsity == spec::Spec::Sparsity::BlockBitmap);
  put("SPARSE_SIZE", spec.block_size);
  put("SPARSE_HEADS", spec.block_heads);
  // Warpgroups of a tile keep different blocks.
  const int group = spec.heads.q / spec.heads.kv();
  put("SKIP", sparse && spec.block_size % schedule.queries(group) != 0);
  put("GATHER", schedule::gathers(schedule, spec.block_size));
  return values;
}

}  // namespace attngen::emit
