#include "emit/values.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "attention/interval_mask.h"
#include "attention/large_scores.h"
#include "attention/output_columns.h"
#include "attention/pair_form.h"
#include "attention/started.h"
#include "attention/tiles.h"
#include "emit/device_text.h"
#include "emit/prepass.h"
#include "emit/user_functions.h"
#include "expr/decimal.h"
#include "expr/expr.h"
#include "schedule/resources.h"
#include "schedule/scan.h"
#include "schedule/search.h"
#include "schedule/splits.h"
#include "schedule/units.h"

namespace attngen::emit {
namespace {

attention::PairForm pair_form_of(const spec::Spec& spec, const attention::RowForm& rows,
                                 const schedule::Candidate& candidate) {
  return attention::pair_form(
      spec, rows, schedule::pair_abilities(candidate.cost.family, candidate.resources.forms));
}

bool keys_depend_on_query(const spec::Spec& spec) {
  const attention::KeyRange range = attention::key_range(spec.mask, spec.inputs);
  const auto by_query = [](const expr::Expr& end) {
    return expr::mentions(end, "q_first") || expr::mentions(end, "q_last");
  };
  return by_query(range.begin) || by_query(range.end) || by_query(range.full_begin) ||
         by_query(range.full_end);
}

class TemplateValues {
 public:
  TemplateValues(const spec::Spec& spec, const attention::RowForm& rows,
                 const schedule::Candidate& candidate)
      : spec_(spec),
        rows_(rows),
        schedule_(candidate.schedule),
        resources_(candidate.resources),
        pairs_(pair_form_of(spec, rows, candidate)),
        plain_(is_plain_score(spec)),
        masked_(attention::is_masked(spec)),
        by_query_(masked_ && keys_depend_on_query(spec)),
        walks_(spec.block_size > 0 || (has_walk(spec) && !has_searched_limits(spec, rows))) {}

  Values all() {
    put_tensors();
    put_schedule();
    put_resources();
    put_rows();
    put_score();
    put_strips();
    put_bias();
    put_near_forms();
    put_level_form();
    put_far_form();
    put_mask();
    put_key_order();
    put_sequences();
    put_pages();
    put_blocks();
    put_tokens();
    return std::move(values_);
  }

 private:
  void put(const char* name, int64_t value) {
    values_[std::string("ATTN_") + name] = std::to_string(value);
  }
  void put_float(const char* name, double value) {
    values_[std::string("ATTN_") + name] = expr::float_literal(value);
  }

  void put_type(const char* name, const expr::Expr& value) {
    values_[std::string("ATTN_") + name] = value ? number_type(value) : "float";
  }

  void put_tensors() {
    put("BF16", spec_.dtype == spec::DType::Bf16);
    put("HEAD_DIM_QK", spec_.head_dim.qk);
    const schedule::ValueParts parts = schedule::value_parts(spec_);
    put("HEAD_DIM_V", parts.columns);
    put("VALUE_PARTS", parts.count);
    put("SHARE_KV", spec_.v_prefix.has_value());
    put("SIDES", parts.sides);
    const bool sides = parts.sides > 1, maps = spec_.maps > 1;
    values_["ATTN_ROW_BLOCKS"] = sides ? "kRowBlocks" : "kWarpgroups";
    values_["ATTN_ROW_BLOCK"] = sides ? "warpgroup / kSides" : "warpgroup";
    values_["ATTN_KEEPERS"] = maps ? "kRowBlocks" : values_["ATTN_ROW_BLOCKS"];
    values_["ATTN_KEEPER"] = maps ? "warpgroup / kMaps" : values_["ATTN_ROW_BLOCK"];
    values_["ATTN_STORED_CHUNKS"] = sides ? "kSides * kChunksV" : "kChunksV";
    values_["ATTN_PART_COLUMNS"] = sides ? "kOutputDim" : "kHeadDimV";
    put("OUTPUT_DIM", spec_.head_dim.v);
    put("MAPS", spec_.maps);
    put("HEADS_Q", spec_.heads.q);
    put("HEADS_KV", spec_.heads.kv());
    put("LAYOUT_BHSD", spec_.layout == spec::Layout::Bhsd);
    put_float("SCALE", spec_.scale);
    put("FIXED_BATCH", spec_.fixed.batch.value_or(0));  // 0: any
    put("FIXED_SEQ_Q", spec_.fixed.seq_q.value_or(0));
    put("FIXED_SEQ_KV", spec_.fixed.seq_kv.value_or(0));
  }

  void put_schedule() {
    put("TILE_KV", schedule_.tile_kv);
    put("WARPGROUPS", schedule_.warpgroups);
    put("WAVES", int64_t{2} * schedule_.warpgroups);  // of CDNA2
    put("STAGES", schedule_.stages);
    put("WEIGHTS_IN_KEYS", resources_.weights_in_keys);
    put("WEIGHTS_SHARED", schedule_.weights == schedule::Place::Shared);
    put("INTRA_OVERLAP", schedule_.overlap == schedule::Overlap::IntraWarpgroup);
    put("PING_PONG", schedule_.ping_pong);
    put("PERSISTENT", schedule_.grid == schedule::Grid::Persistent);
    put("LONGEST_FIRST", schedule_.order == schedule::Order::LongestFirst);
    put("TILES_COUNTED", schedule::counts_tiles(schedule_));
    put("FIRST_ROWS_LONGEST", resources_.row_order.first_longest);
    put("SHORT_ROWS", resources_.row_order.ends_short && spec_.block_size == 0);
    put("EVEN_ROWS", resources_.row_order.even);
    put("ROW_SPAN", spec_.block_size == 0 ? resources_.row_order.span : 0);
    put("PACKED_HEADS", schedule_.pack_heads);
    const int group = spec_.heads.group();
    const int rows = schedule_.rows_of_query(group);
    put("GROUP_ROWS", rows);
    const int parts = schedule_.pack_heads ? schedule::head_parts(group) : 1;
    put("PADDED_HEADS", schedule_.pack_heads && parts * rows != group);
    put("HEAD_PARTS", parts);
    put("PART_HEADS", schedule::part_heads(group));
    put_splits();
  }

  void put_splits() {
    using Rule = schedule::SplitRule;
    put("SPLIT_KEYS", schedule_.split_keys);
    // Whose rows are joined: a part of the values has rows of its own.
    values_["ATTN_JOINED_HEADS"] =
        schedule::value_parts(spec_).count > 1 ? "kHeadsQ * kValueParts" : "kHeadsQ";
    put("EARLY_JOINS", schedule_.split_keys && !spec_.varlen);
    put("SPLIT_MOST_TURNS", Rule::most_turns(resources_.row_order, masked_, spec_.block_size > 0));
    put("SPLIT_ENDS", Rule::kEnds);
    put("SPLIT_JOINING", Rule::kJoining);
    put("SPLIT_EACH", Rule::kEach);
    put("SPLIT_PART_VALUES", Rule::kPartValues);
    put("SPLIT_CROWDED", Rule::kCrowded);
    put("SPLIT_ROOMY_SIXTHS", Rule::kRoomySixths);
    put("FEW_SEQUENCES", Rule::kFewSequences);
    put("SPLIT_UNEVEN_TURNS", Rule::kUnevenTurns);
    put("SPLIT_UNEVEN_ROWS", Rule::kUnevenRows);
    put("SPLIT_UNEVEN_KEYS", Rule::kUnevenKeys);
    put("MOST_EARLY_ROWS", Rule::kMostEarlyRows);
  }

  void put_resources() {
    put("PRODUCER_REGISTERS", resources_.producer_registers);
    put("CONSUMER_REGISTERS", resources_.consumer_registers);
    put("WAVES_PER_SIMD", resources_.waves_per_simd);
    put("QUERY_STAGES", resources_.query_stages);
    put("BLOCKS_PER_CORE", resources_.blocks_per_core);
    put("PLACES", resources_.places);
  }

  void put_rows() {
    put("EXPONENTIAL", rows_.exponential);
    put("FIXED_MAX", resources_.fixed_max);
    put("RECOMPUTE", resources_.fixed_max || resources_.forms.near);
    put("ROW_FREE", rows_.row_free());
    put("WEIGHTS_WAIT", !rows_.exponential && attention::weights_wait(rows_));
    put("OUTPUT_COLUMNS", attention::has_columns(rows_.output));
    put("COLUMN_INPUTS", static_cast<int64_t>(attention::column_loads(spec_, rows_.output).size()));
  }

  void put_score() {
    put("PLAIN_SCORE", plain_);
    put("AFFINE_SCORE", rows_.exponential && !plain_ && pairs_.affine);
    put("LARGE_SCORES", rows_.exponential && attention::may_be_large(spec_));
    put_float("EXPONENT_UNIT", pairs_.unit);
    put("POSITIVE_PART", pairs_.positive_part);
    put("ROW_CONSTANTS", !pairs_.constants.empty());
    put("QUERY_CONSTANTS",
        std::ranges::any_of(pairs_.constants, [](const spec::NamedExpr& constant) {
          return expr::mentions(constant.value, "q_idx") || expr::mentions(constant.value, "q_pos");
        }));
    put("LINES", pairs_.has_lines());
    put("DIVIDES_KEYS", pairs_.divides_keys);
    put("SCORE_COLUMN", pairs_.has_value_strips() || pairs_.divides_keys);
    put("ODD_TABLES", !std::ranges::all_of(pairs_.row_tables, attention::begins_with_chunks));
    put("TABLE_BYTES", attention::places_of(pairs_.row_tables).back());
    put("INPUTS", !spec_.inputs.empty());
  }

  void put_strips() {
    const size_t keys = pairs_.of_key.size();
    const expr::Expr key = keys > 0 ? pairs_.of_key.front() : expr::Expr{};
    const expr::Expr& distance = pairs_.of_distance;
    const bool words = !pairs_.key_words.empty();
    const auto any = [&](expr::Type type) {
      return (key && key.type() == type) || (distance && distance.type() == type);
    };
    put("KEY_STRIPS", static_cast<int64_t>(keys));
    put("STRIPS_BY_HEAD", schedule_.pack_heads && pairs_.has_strips_by_head());
    put("DISTANCE_STRIP", bool{distance});
    put_type("KEY_VALUE", key);
    put_type("DISTANCE_VALUE", distance);
    put("KEY_WORDS", static_cast<int64_t>(pairs_.key_words.size()));
    put("VALUE_STRIPS", pairs_.has_value_strips());
    put("STRIPS", pairs_.has_value_strips() || words);
    put("FLOAT_STRIPS", any(expr::Type::Float));
    put("INT_STRIPS", any(expr::Type::Int) || words);
  }

  void put_level_form() {
    const attention::LevelForm level = pairs_.level.value_or(attention::LevelForm{});
    put("LEVEL", pairs_.level.has_value());
    put_float("LEVEL_UNIT", level.factor * pairs_.unit);
  }

  void put_bias() {
    put("BIAS", pairs_.bias.has_value());
    put("BIAS_GROUPED",
        schedule_.pack_heads && pairs_.bias &&
            attention::matrices_of_heads(*pairs_.bias) == attention::Matrices::Shared);
    put("BIAS_BYTES", pairs_.bias ? pairs_.bias->element_bytes() : 2);
    put("BIAS_FP16", pairs_.bias && pairs_.bias->input.element == spec::Input::Element::Fp16);
    const bool is_shifted = pairs_.bias && pairs_.bias->shift;
    put("BIAS_SHIFTED", is_shifted);
    put("BIAS_MATRICES", pairs_.bias && !is_shifted && pairs_.bias->element_bytes() == 2);
    put("BIAS_SLOPE", is_shifted ? pairs_.bias->shift->slope : 0);
    put("SCORE_BIAS", pairs_.scores_read_bias());
    put("MASK_BIAS", pairs_.mask_reads_bias());
    put("ZERO_IS_MASKED", pairs_.zero_is_masked());
    put("BATCHES_SHARE", attention::batches_share_pairs(spec_));
  }

  void put_near_forms() {
    const attention::NearCap cap = pairs_.near_cap.value_or(attention::NearCap{});
    put("NEAR_LOGISTIC", pairs_.near_logistic.has_value());
    put("NEAR_CAP", pairs_.near_cap.has_value());
    put("QUERY_SHIFT", cap.query_shift);
    put_float("NEAR_LINEAR", cap.linear);
    put_float("NEAR_CUBIC", cap.cubic);
    put_float("NEAR_HIGHEST", cap.highest - attention::kNearCapRoom);
    put("NEAR_ROOM", int64_t{1} << attention::kNearCapRoom);
  }

  void put_far_form() {
    const bool sums = pairs_.far && attention::sums_products(rows_);
    put("FAR", pairs_.far.has_value());
    put("FAR_SUMS", sums);
    put("FAR_MAY_FALL", pairs_.far && pairs_.far->may_fall);
    put("KEY_SUMS", pairs_.far && attention::sums_keys(rows_));
    put("FAR_COUNTS", pairs_.far && !sums && counts_pairs());
    put("KEY_WEIGHTS", pairs_.far && pairs_.far->key_weight);
    put("KEY_FACTORS", pairs_.far && pairs_.far->key_weight && pairs_.far->key_weight->factor);
    put("PARTS_IN_TURN", resources_.parts_in_turn);
    put("FAR_QUERIES", schedule::holds_far_queries(sums, spec_.head_dim.qk));
    put("STATE_COLUMNS", schedule::state_columns(sums, spec_.head_dim.qk));
    put("CHUNK_KEYS", schedule::chunk_keys(spec_.head_dim.qk));
    const int parts = schedule::scan_parts(spec_.head_dim.v);
    put("SCAN", schedule_.scan);
    put("SCAN_WAVE", schedule::kScanWave);
    put("FEWEST_SCANS", schedule::fewest_scans(parts));
    put("FEWEST_SCAN_ROWS", schedule::fewest_scan_rows(parts));
    put("FEWEST_FAR_QUERIES", schedule::fewest_far_queries(sums, spec_.head_dim.qk));
  }

  bool counts_pairs() const {
    return std::ranges::any_of(rows_.reductions, [](const attention::Reduction& reduction) {
      return reduction.element.is_number();
    });
  }

  void put_mask() {
    put("MASKED", masked_);
    put("MASK_LOADS", pairs_.mask_loads());
    put("MASK_BITS", pairs_.mask_bits);
    put("INTERVAL_MASK", is_interval(spec_));
    put("SEARCHED_LIMITS", has_searched_limits(spec_, rows_));
    // Without overlap of their own, tiles at the edge of the registers would spill.
    put("MASK_AHEAD", resources_.fixed_max && may_have_mask_ahead(spec_, rows_) &&
                          schedule_.overlap == schedule::Overlap::IntraWarpgroup);
    put("WALK", walks_);
    put("SCOUT", resources_.scout);
    put("BLOCK_TEST", has_block_test(spec_));
    put("ID_TABLES", static_cast<int64_t>(id_tables(spec_)));
    put("PAIR_BYTES", attention::asks_pairs(spec_) && bytes_of_mask(spec_).has_value());
    // A mask may give each warpgroup's rows keys of their own.
    put("TRIMMED", masked_ && by_query_ && schedule_.row_blocks() > 1 && !walks_);
  }

  void put_key_order() {
    const attention::KeyRange range = attention::key_range(spec_.mask, spec_.inputs);
    const bool from_first = range.begin.is_number(0);
    put("KEYS_FROM_FIRST", from_first);
    // From the first key on, where all tiles of a head begin there and end apart. A maximum is kept
    // over the blocks that follow: scores that vary with the key may be largest at the last ones.
    const bool level = rows_.row_free() || !expr::mentions(spec_.score, "kv_idx");
    // Far keys come before the others.
    const bool ascending = pairs_.far || (masked_ && from_first && !walks_ && level);
    put("ASCENDING", ascending);
    put("NEAREST_FIRST", !ascending && !walks_ && !by_query_ && may_fall_with_distance());
    // Whether the mask's limits may cut the last blocks of keys of a tile, and the first ones.
    const bool cut = rows_.exponential && masked_ && is_interval(spec_);
    put("CUT_LAST", cut);
    put("CUT_FIRST", cut && !range.full_begin.is_number(0));
  }

  // Where the row's maximum is kept, which is then best found in the first block.
  bool may_fall_with_distance() const {
    const auto reads = [&](std::string_view name) { return expr::mentions(spec_.score, name); };
    return !spec_.gathers_lists() && resources_.fixed_max && attention::may_be_large(spec_) &&
           reads("kv_idx") && (reads("q_idx") || reads("q_pos"));
  }

  void put_sequences() {
    put("VARLEN", spec_.varlen);
    put("PACKED_SAVES", spec_.varlen && !rows_.saves.empty());
    // Another kernel comes first, which makes tables or states, or last, which joins splits. That
    // of tables clears the counter of tiles; otherwise the kernel itself does.
    const bool tables = spec_.varlen || id_tables(spec_) > 0;
    put("PREPARES", tables || pairs_.far || schedule_.split_keys);
    put("COUNTER", schedule::counts_tiles(schedule_) && !tables);
  }

  void put_pages() {
    const int page = spec_.page.value_or(0);
    const bool row_by_row = resources_.page_rows || spec_.gathers_lists();
    const bool of_blocks = page > 0 && !row_by_row;
    const bool gathers = schedule::gathers(schedule_, spec_.block_size);
    put("PAGE_SIZE", page);
    put("PAGE_KEYS", schedule::page_keys(schedule_, page, spec_.block_size));
    put("PAGE_ROWS", resources_.page_rows);
    put("ROW_BY_ROW", row_by_row);
    values_["ATTN_COPIED_KEYS"] = of_blocks ? "kCopiedKeys" : gathers ? "kBlockKv" : "kTileKv";
    put("VALUES_APART", resources_.values_apart);
    put("CLEARS_VALUES", !row_by_row && (spec_.varlen || of_blocks));
  }

  void put_tokens() {
    put("TOKENS", spec_.gathers_lists());
    put("LISTS_AS_MASK", spec_.lists_as_mask);
    put("LISTED_BLOCKS", schedule::listed_blocks(schedule_, spec_.heads.group()));
    put("LIST_ROOM", spec_.token_count);
    // Of one block a core nobody else works while it waits for a list. Lists that are split have a
    // tile each.
    put("LISTS_AHEAD",
        spec_.gathers_lists() && resources_.blocks_per_core == 1 && !schedule_.split_keys);
    put("LISTED_KEYS", pairs_.listed_keys);
    put("TOKEN_MASK", spec_.token_count > 0 && !spec_.token_mask.is_number(1));
  }

  void put_blocks() {
    const bool sparse = spec_.block_size > 0;
    put("SPARSE", sparse);
    put("SPARSE_BITMAP", spec_.sparsity == spec::Spec::Sparsity::BlockBitmap);
    put("SPARSE_SIZE", spec_.block_size);
    put("SPARSE_QUERIES", spec_.block_queries);
    put("SPARSE_MOST", spec_.most_blocks.value_or(0));
    put("SPARSE_HEADS", spec_.block_heads);
    put("CELLS_Q", sparse && (!spec_.varlen || spec::has_max_seq_q(spec_)));
    put("CELLS_KV", sparse && (!spec_.varlen || spec::has_max_seq_kv(spec_)));
    const int group = spec_.heads.q / spec_.heads.kv();
    put("SKIP", schedule::skips_blocks(schedule_, spec_.block_queries, group));
    put("CELL_ROWS", schedule::rows_of_blocks(schedule_, spec_.block_queries, group));
    put("ROWS_DIFFER", schedule::rows_differ(schedule_, spec_.block_queries, group));
    put("GATHER", schedule::gathers(schedule_, spec_.block_size));
    put("RANKED",
        schedule::ranked_tiles(schedule_, spec_.block_queries, group, masked_, spec_.varlen));
  }

  const spec::Spec& spec_;
  const attention::RowForm& rows_;
  const schedule::Schedule& schedule_;
  const schedule::Resources& resources_;
  attention::PairForm pairs_;
  bool plain_, masked_;
  bool by_query_;  // which keys the rows of a tile may need
  bool walks_;     // the scout asks of each block of keys whether it is needed
  Values values_;
};

}  // namespace

Values template_values(const spec::Spec& spec, const attention::RowForm& rows,
                       const schedule::Candidate& candidate) {
  return TemplateValues(spec, rows, candidate).all();
}

}  // namespace attngen::emit
