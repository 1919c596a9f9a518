#include <algorithm>
#include <set>

#include "attention/empty_row.h"
#include "attention/fixed_max.h"
#include "attention/interval_mask.h"
#include "attention/large_scores.h"
#include "attention/output_columns.h"
#include "attention/tiles.h"
#include "expr/print.h"
#include "schedule/block_rows.h"
#include "schedule/lines.h"
#include "schedule/resources.h"
#include "schedule/row_loads.h"
#include "schedule/row_order.h"
#include "schedule/scan.h"
#include "schedule/search.h"
#include "schedule/units.h"

namespace attngen::schedule {

using attention::Shared;

namespace {

// Two limits of the row.
constexpr expr::OperationCounts kIntervalTest{.logic = 2};
constexpr expr::OperationCounts kBitTest{.logic = 1};

// An element for each pair that scores read. Shifted ones are loads of each thread elsewhere.
bool has_biases(const spec::Spec& spec) {
  const auto input = attention::pair_input(spec);
  return input && !input->of_mask && !input->shift;
}

// Whether a tile with rows of several heads can have its biases: a warp's 16 rows are whole
// queries, whose heads share the biases or have neighbouring ones.
bool packs_biases(const spec::Spec& spec) {
  constexpr int kMostRows = 16;
  const auto input = attention::pair_input(spec);
  return input && !input->shift && spec.maps == 1 &&
         packed_rows(spec.heads.q / spec.heads.kv()) <= kMostRows &&
         attention::matrices_of_heads(*input) != attention::Matrices::Anywhere;
}

// The heads of a tile visit the same blocks of keys. On CDNA2 biases make no tiles: each lane loads
// those of its row.
std::string why_heads_apart(const spec::Spec& spec, const Kernel& kernel, target::Family family) {
  if (expr::mentions(spec.mask, "h")) return "the mask reads h: heads may need different keys";
  if (kernel.block_size > 0 && !kernel.group_blocks) return "each head keeps blocks of its own";
  if (family == target::Family::Hopper && has_biases(spec) && !packs_biases(spec)) {
    return "each head has biases of its own";
  }
  return {};
}

// A step takes two blocks that do not stand side by side, but not what is loaded with them.
std::string why_blocks_apart(const spec::Spec& spec, const Kernel& kernel) {
  if (has_biases(spec)) return "biases are loaded for one at a time";
  if (kernel.key_rows > 0) return "an input's elements are read from one address on";
  if (kernel.value_parts > 1) return "the values need several accumulators";
  return {};
}

// Counts what varies along a row, as a kernel of the family computes it.
struct Counter {
  const attention::PairForm& pairs;
  expr::Accuracy accuracy;

  expr::OperationCounts operator()(const expr::Expr& e) const {
    return attention::operations_of_pair(in_tiles_that_fit(e, pairs), accuracy);
  }
  expr::OperationCounts operator()(std::vector<expr::Expr> all) const {
    for (expr::Expr& e : all) e = in_tiles_that_fit(e, pairs);
    return attention::operations_of_pair(all, accuracy);
  }
};

// The weight, and what reductions take of a pair.
void count_weight(const attention::PairForm& pairs, const Counter& count, target::Family family,
                  Kernel& kernel) {
  kernel.key_loads += static_cast<int>(count(pairs.weight).load);
  std::vector<expr::Expr> all{pairs.weight};
  for (const attention::PairElement& element : pairs.elements) all.push_back(element.value);
  kernel.weight = count(std::move(all));
  for (size_t i = 0; i < pairs.elements.size(); ++i) {
    // The reduction itself: a maximum or a sum; pairs are counted by the block.
    const attention::Reduction& reduction = kernel.rows.reductions[i];
    if (reduction.element.is_number()) continue;
    (reduction.kind == attention::Reduction::Kind::Max ? kernel.weight.logic
                                                       : kernel.weight.multiply) += 1;
  }
  // Two columns share a reciprocal, for half of four products and of a maximum.
  const bool one_pass = std::ranges::all_of(
      kernel.rows.reductions, [](const auto& reduction) { return reduction.element.is_number(); });
  kernel.shares_reciprocals =
      family == target::Family::Hopper && one_pass && attention::logistic_exponent(pairs.weight);
  if (kernel.shares_reciprocals) kernel.weight += {.special = -0.5, .multiply = 2, .logic = 0.5};
}

void count_near_form(const attention::PairForm& pairs, const Counter& count, Kernel& kernel) {
  kernel.has_near = pairs.near_cap || pairs.near_logistic;
  if (pairs.near_cap) kernel.near = {.multiply = 2};  // beside the exponent's own multiply-add
  if (pairs.near_logistic) {
    kernel.near = count(pairs.near_logistic->exponent);
    kernel.near += {.special = 1,
                    .multiply = 1,
                    .logic = 0.5};  // the power and its square; half of a maximum of three
  }
}

// Of an input that comes by tiles.
void count_bias(const spec::Spec& spec, const attention::PairInput& input, Kernel& kernel) {
  kernel.bias_sharing = expr::mentions(input.load, "h")      ? 1
                        : expr::mentions(input.load, "h_kv") ? kernel.group()
                                                             : kernel.heads_q;
  const bool several = kernel.strips != Shared::All;  // heads in a tile
  if (several && attention::matrices_of_heads(input) == attention::Matrices::Shared) {
    kernel.bias_group = packed_rows(kernel.group());
    kernel.bias_sharing /= kernel.group();
  }
  kernel.batches_share = attention::batches_share_pairs(spec);
  kernel.bias_bytes = input.element_bytes();
  kernel.bias_shifted = input.shift.has_value();
  // A load for two columns of a row, and of bytes one operation to tell them apart; of 16 bits an
  // ldmatrix for eight, a conversion each, and half of an operation more for addresses: 46 where
  // there are 32 conversions.
  expr::OperationCounts& reader = input.of_mask ? kernel.mask : kernel.score;
  if (input.shift) {
    reader += {.logic = kernel.bias_bytes == 2 ? 1.0 : 0.0, .load = 1};
    kernel.shared_loads += 1;
    return;
  }
  reader += kernel.bias_bytes == 4   ? expr::OperationCounts{.load = 0.5}
            : kernel.bias_bytes == 1 ? expr::OperationCounts{.logic = 1, .load = 0.5}
                                     : expr::OperationCounts{.logic = 1.5, .load = 0.125};
}

// Elements that pairs read of rows in shared memory: nothing waits for them.
void count_tables(const attention::PairForm& pairs, Kernel& kernel) {
  kernel.table_bytes = attention::places_of(pairs.row_tables).back();
  std::set<std::string> elements;
  for (const expr::Expr& e : {pairs.score, pairs.weight}) {
    if (!e) continue;
    expr::find_node(in_tiles_that_fit(e, pairs), [&](const expr::Expr& node) {
      const bool of_table =
          node.op() == expr::Op::Load && attention::names_element_of_table(node.name());
      if (of_table && attention::varies_in_row(node)) {
        elements.insert(expr::print(node));
      }
      return false;
    });
  }
  kernel.shared_loads = static_cast<int>(elements.size());
  kernel.key_loads -= std::min(kernel.key_loads, kernel.shared_loads);
}

// A warpgroup computes a value for its 64 rows, or for those of each of so many heads; a thread
// reads those of two columns at a time.
void count_strip(const expr::Expr& value, int heads, const Counter& count, Kernel& kernel) {
  const expr::OperationCounts n = count(value);
  const double share = heads / static_cast<double>(kWarpgroupRows);
  kernel.score += {.special = share * n.special,
                   .multiply = share * n.multiply,
                   .logic = share * n.logic,
                   .load = share * n.load + 0.5};
}

void count_strips(const attention::PairForm& pairs, const Counter& count, Kernel& kernel) {
  const bool by_head = kernel.strips == Shared::OfKeysByHead && pairs.has_strips_by_head();
  kernel.key_strips = static_cast<int>(pairs.of_key.size());
  kernel.strip_heads = by_head ? packed_rows(kernel.group()) : 1;
  for (const expr::Expr& value : pairs.of_key)
    count_strip(value, kernel.strip_heads, count, kernel);
  kernel.distance_strip = bool{pairs.of_distance};
  if (kernel.distance_strip) count_strip(pairs.of_distance, 1, count, kernel);
}

// Rows of a state are columns of the values; a tile of wide ones takes those of its part.
bool has_states(const spec::Spec& spec, const attention::PairForm& pairs) {
  const int v = spec.head_dim.v;
  const ValueParts parts = value_parts(spec);
  return pairs.far && !spec.v_prefix && spec.head_dim.qk % kStateRows == 0 &&
         parts.columns % kStateRows == 0 && parts.columns * parts.count == v;
}

// What an element of O takes beyond a factor of its row, and the bytes that it alone reads.
void count_output(const spec::Spec& spec, Kernel& kernel) {
  const expr::Expr& output = kernel.rows.output;
  const auto scaling = attention::output_scaling(output);
  kernel.output =
      expr::count(scaling ? scaling->of_column : output, attention::element_variables());
  std::set<std::string> read;
  expr::find_node(output, [&](const expr::Expr& e) {
    if (e.op() == expr::Op::Load && expr::mentions(e, "d") && read.insert(expr::print(e)).second) {
      kernel.column_bytes += spec::bytes_of(spec.find_input(e.name())->element);
    }
    return false;
  });
}

bool reads_bytes(const expr::Expr& e, const spec::Spec& spec) {
  return expr::find_node(e, [&](const expr::Expr& node) {
           const spec::Input* input =
               node.op() == expr::Op::Load ? spec.find_input(node.name()) : nullptr;
           return input != nullptr && input->element == spec::Input::Element::U8;
         }) != nullptr;
}

bool is_comparison(const expr::Expr& e) {
  return e.type() == expr::Type::Bool && e.op() != expr::Op::And && e.op() != expr::Op::Or &&
         e.op() != expr::Op::Not;
}

// Whether a value of the row stands in two comparisons of a mask, of which one is the row's own.
// What that alone reads need not be kept beside its answer.
bool asks_twice(const attention::PairForm& pairs) {
  return std::ranges::any_of(pairs.constants, [&](const spec::NamedExpr& constant) {
    const auto asks = [&](bool of_pair) {
      return expr::find_node(pairs.mask, [&](const expr::Expr& e) {
               return is_comparison(e) && expr::mentions(e, constant.name) &&
                      attention::varies_in_row(e) == of_pair;
             }) != nullptr;
    };
    return asks(true) && asks(false);
  });
}

// The user's functions, per pair: what a kernel computes beyond the plain product's exponent or
// weight.
void count_functions(const spec::Spec& spec, const attention::PairForm& pairs,
                     target::Family family, Kernel& kernel) {
  const Counter count{pairs, accuracy_of(spec, family)};
  kernel.divided = divided_keys(pairs, count.accuracy);
  if (pairs.score) kernel.score = count(pairs.score);
  if (pairs.affine) kernel.score.multiply -= 1;  // in the place of the exponent's own multiply-add
  kernel.key_rows = static_cast<int>(pairs.key_rows.size());
  kernel.key_loads = static_cast<int>(kernel.score.load);
  if (!kernel.rows.exponential) count_weight(pairs, count, family, kernel);
  kernel.key_loads -= std::min(kernel.key_loads, kernel.key_rows);
  kernel.scattered =
      scattered_loads(pairs.score, pairs, spec) + scattered_loads(pairs.weight, pairs, spec);
  for (const attention::KeyRow& row : pairs.key_rows) {
    kernel.scattered += scattered_loads(row.load, pairs, spec);
  }
  count_tables(pairs, kernel);
  kernel.mask_scattered = kernel.tested_mask ? scattered_loads(pairs.mask, pairs, spec) : 0;
  kernel.has_far = has_states(spec, pairs);
  kernel.has_scan = kernel.has_far && may_scan(spec, kernel.rows, pairs);
  count_near_form(pairs, count, kernel);
  count_output(spec, kernel);
  count_strips(pairs, count, kernel);
  kernel.plain_score =
      pairs.affine || !pairs.score || attention::is_multiple_of_product(pairs.score);
  kernel.key_line = pairs.affine && pairs.base && expr::mentions(pairs.base, "kv_idx");
  kernel.row_constants = static_cast<int>(pairs.constants.size() + pairs.lines.size());
  kernel.row_load_registers = row_load_registers(pairs);
  kernel.indexed_score = pairs.reads("kv_idx");
  kernel.mask_bits = pairs.mask_bits;
  kernel.listed_keys = pairs.listed_keys;
  if (kernel.listed_keys) kernel.score.load += 1;
  if (kernel.mask_bits) {
    kernel.mask = kBitTest;
  } else if (!kernel.range.always_full) {
    kernel.mask = kernel.tested_mask ? attention::operations_of_pair(pairs.mask) : kIntervalTest;
  }
  if (pairs.bias) count_bias(spec, *pairs.bias, kernel);
  kernel.mask_bytes = kernel.tested_mask && reads_bytes(pairs.mask, spec);
  kernel.mask_asks_twice = kernel.tested_mask && asks_twice(pairs);
  kernel.mask_tile = expr::mentions(pairs.mask, attention::kByte) && !pairs.mask_loads();
  kernel.key_words = static_cast<int>(pairs.key_words.size());
  kernel.mask.load += 0.5 * kernel.key_words;  // of two columns at a time
  kernel.mask.logic += 1;                      // the select
}

// Who finds the blocks of keys. Among blocks that are given a mask empties none: only its ends
// count.
void describe_walk(const spec::Spec& spec, target::Family family, Kernel& kernel) {
  kernel.walks = attention::searches(kernel.range);
  const auto test = attention::block_test(spec);
  if (!test) return;
  kernel.id_tables = !kernel.walks && !test->tables.empty();
  kernel.walks = true;
  if (family == target::Family::Hopper) kernel.test = test;
}

// Rows of biases so short that a tile's first ones, which nothing hides, are much of its time:
// threads load what each pair needs. H100, 2026-11-28 (a throw-away script), times of tiles over
// those of loads: of 48, 64 and 100 keys 1.75, 1.27 and 1.20, of 144, 200 and 256 0.80, 0.68 and
// 0.5. Where TMA cannot take the rows, of 49 to 257 keys 1.06 to 1.93, of 333 1.03, of 389 1.63, of
// 445 0.82 and 0.88, of 577 0.74 (bf16) and 0.94 (fp32).
bool has_short_rows(const spec::Spec& spec) {
  constexpr int64_t kShort = 112, kShortOdd = 400;
  const auto input = attention::pair_input(spec);
  if (!input || input->of_mask) return false;
  return std::ranges::all_of(spec.workload, [&](const spec::Workload& w) {
    const bool odd = input->shift || w.seq_kv * input->element_bytes() % 16 != 0;
    return w.seq_kv <= (odd ? kShortOdd : kShort);
  });
}

// Whether an input with an element for each pair does, where so much is computed once.
bool comes_by_tiles(const spec::Spec& spec, Shared strips) {
  if (has_short_rows(spec) || value_parts(spec).sides > 1) return false;
  const bool of_several_heads = strips == Shared::OfKeys || strips == Shared::OfKeysByHead;
  return strips == Shared::All || (of_several_heads && has_biases(spec) && packs_biases(spec));
}

Kernel described(const spec::Spec& spec, const attention::RowForm& rows, target::Family family,
                 Shared strips, bool tables) {
  Kernel kernel;
  kernel.head_dim_qk = spec.head_dim.qk;
  const ValueParts parts = value_parts(spec);
  kernel.head_dim_v = parts.columns;
  kernel.value_parts = parts.count;
  kernel.share_kv = spec.v_prefix.has_value();
  kernel.sides = parts.sides;
  kernel.heads_q = spec.heads.q;
  kernel.heads_kv = spec.heads.kv();
  kernel.maps = spec.maps;
  kernel.bf16 = spec.dtype == spec::DType::Bf16;
  kernel.range = attention::key_range(spec.mask, spec.inputs);
  if (expr::mentions(spec.mask, "h") || expr::mentions(spec.mask, "h_kv")) {
    kernel.mask_heads = {kernel.heads_q, kernel.group()};
  }
  kernel.rows = rows;
  kernel.fixed_max = attention::may_fix_max(rows);
  kernel.large_scores = attention::may_be_large(spec);
  kernel.searched_limits =
      family == target::Family::Hopper && attention::has_searched_limits(spec, rows);
  kernel.masked = attention::is_masked(spec);
  kernel.tested_mask = !attention::has_row_limits(kernel.range) && !kernel.searched_limits;
  kernel.block_size = spec.block_size;
  kernel.block_queries = spec.block_queries;
  kernel.kept_blocks = kept_blocks(spec);
  kernel.most_keys = static_cast<double>(spec.most_blocks.value_or(0)) * spec.block_size;
  kernel.rows_alike = spec.rows_alike;
  describe_walk(spec, family, kernel);
  kernel.list_room = spec.gathers_lists() ? spec.token_count : 0;
  kernel.masked_room = spec.lists_as_mask ? spec.token_count : 0;
  if (!spec.gathers_lists()) kernel.page = spec.page.value_or(0);
  kernel.workload = spec.workload;
  // A query has the keys of its list, as if there were no others.
  if (kernel.list_room > 0) {
    for (spec::Workload& w : kernel.workload) {
      w.seq_kv = std::min<int64_t>(w.seq_kv, kernel.list_room);
    }
  }
  kernel.varlen = spec.varlen;
  kernel.group_blocks = spec.block_size > 0 && spec.block_heads == spec.heads.kv();
  kernel.heads_apart = why_heads_apart(spec, kernel, family);
  kernel.strips = strips;
  count_functions(spec,
                  attention::pair_form(spec, rows,
                                       pair_abilities(family, {.near = true,
                                                               .far = true,
                                                               .strips = strips,
                                                               .bias = comes_by_tiles(spec, strips),
                                                               .places = true,
                                                               .tables = tables})),
                  family, kernel);
  kernel.apart_blocks = why_blocks_apart(spec, kernel);
  kernel.row_order = row_order(kernel);
  return kernel;
}

// Of a tile with rows of several heads. A thread's two rows are eight apart, and of one head if
// there are no more.
Shared strips_of_packed(int group) {
  constexpr int kMostByHead = 8;
  return packed_rows(group) <= kMostByHead ? Shared::OfKeysByHead : Shared::OfKeys;
}

}  // namespace

const Kernel& Kernel::of(const Schedule& schedule, bool tables) const {
  const bool two_blocks = gathers(schedule, block_size);
  const auto& other = two_blocks ? of_two_blocks : of_several_heads;
  const bool apart = schedule.pack_heads || two_blocks;
  const Kernel& kernel = apart && other ? *other : *this;
  return !tables && kernel.without_tables ? *kernel.without_tables : kernel;
}

Kernel describe_kernel(const spec::Spec& spec, const attention::RowForm& rows,
                       target::Family family) {
  const auto with = [&](Shared strips) {
    Kernel kernel = described(spec, rows, family, strips, true);
    if (kernel.table_bytes > 0) {
      kernel.without_tables =
          std::make_shared<const Kernel>(described(spec, rows, family, strips, false));
    }
    return kernel;
  };
  // Of two sides each weighs every second block: none is computed ahead.
  Kernel kernel = with(value_parts(spec).sides > 1 ? Shared::Nothing : Shared::All);
  if (kernel.has_strips() || kernel.bias_bytes > 0) {
    kernel.of_several_heads =
        std::make_shared<const Kernel>(with(strips_of_packed(kernel.group())));
    kernel.of_two_blocks = std::make_shared<const Kernel>(with(Shared::Nothing));
    kernel.apart_blocks = kernel.of_two_blocks->apart_blocks;
  }
  return kernel;
}

// CDNA2 has no tanh: an exponential and a reciprocal in both storage types.
expr::Accuracy accuracy_of(const spec::Spec& spec, target::Family family) {
  const bool is_quick = spec.dtype == spec::DType::Bf16 && family == target::Family::Hopper;
  return is_quick ? expr::Accuracy::Bf16 : expr::Accuracy::Full;
}

attention::PairAbilities pair_abilities(target::Family family, const Forms& forms) {
  if (family != target::Family::Hopper) return {.flushes_subnormals = true};
  return {.near = forms.near,
          .far = forms.far,
          .level = forms.level,
          .bias = forms.bias,
          .mask_bits = true,
          .row_keys = true,
          .key_rows = true,
          .places = forms.places,
          .row_tables = forms.tables,
          .strips = forms.strips,
          .rounds_positive_part = true};
}

}  // namespace attngen::schedule
