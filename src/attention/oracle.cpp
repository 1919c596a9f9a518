#include "attention/oracle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "attention/reductions.h"
#include "expr/evaluate.h"

namespace attngen::attention {

using expr::Expr;
using expr::kInfinity;
using expr::Op;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Where each name's value stands in the one array that all programs of a spec read. Row values and
// reductions follow.
enum Slot : size_t {
  kScore,
  kKvIdx,
  kAcc,
  kB,
  kH,
  kHKv,
  kQIdx,
  kQPos,
  kSeqQ,
  kSeqKv,
  kMap,
  kD,
  kFixedSlots
};
constexpr std::array<const char*, kFixedSlots> kSlotNames = {
    "score", "kv_idx", "acc", "b", "h", "h_kv", "q_idx", "q_pos", "seq_q", "seq_kv", "map", "d"};

// Eight sums, so that the compiler may use its vectors.
template <typename Term>
double sum_of(int n, const Term& term) {
  std::array<double, 8> sums{};
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int j = 0; j < 8; ++j) sums[j] += term(i + j);
  }
  double sum = 0;
  for (double part : sums) sum += part;
  for (; i < n; ++i) sum += term(i);
  return sum;
}

// Exact products of floats, summed in double.
double dot(const float* a, const float* b, int n) {
  return sum_of(n, [=](int i) { return static_cast<double>(a[i]) * static_cast<double>(b[i]); });
}

// What a sum of these products in fp32, the accumulator of matrix instructions, may err: half a
// unit in the last place of them all. It shows where a score is next to 0 and a weight grows with
// it.
double dot_error(const float* a, const float* b, int n) {
  const auto magnitude = [=](int i) {
    return std::abs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
  };
  return 0x1p-24 * sum_of(n, magnitude);
}

bool is_variable(const Expr& e, const char* name) {
  return e.op() == Op::Variable && e.name() == name;
}

// Elements along a dimension of a tensor: of packed sequences one's own among those of all.
struct Extent {
  int64_t length = 0, begin = 0, in_memory = 0;
};
Extent all_of(int64_t length) { return {length, 0, length}; }

// One sequence of a problem: where it stands, and its first rows.
struct Sequence {
  Extent queries, keys;
  const float *q = nullptr, *k = nullptr, *v = nullptr;
};

// An element of an input; 0 if there is none.
double element_of(const Problem& problem, const char* input, int64_t index) {
  const auto data = problem.inputs.find(input);
  const bool known = data != problem.inputs.end() && index >= 0 &&
                     static_cast<size_t>(index) < data->second.size();
  return known ? data->second[static_cast<size_t>(index)] : 0;
}

// A whole number of an input.
int64_t number_of(const Problem& problem, const char* input, int64_t index = 0) {
  return static_cast<int64_t>(element_of(problem, input, index));
}

// A program, or nothing where the expression is known to do nothing.
using MaybeProgram = std::optional<expr::Program>;

}  // namespace

struct Oracle::Impl {
  struct ReductionProgram {
    bool max = false;
    size_t slot = 0;
    expr::Program element;
  };

  // A row value and the reductions in it, which come first.
  struct RowProgram {
    std::vector<ReductionProgram> reductions;
    size_t slot = 0;
    expr::Program value;
  };

  explicit Impl(const spec::Spec& s);

  Extent extent_of(const spec::Input::Dim& dim, const Problem& problem,
                   const Sequence& sequence) const;
  expr::Loader loader(const Problem& problem, const Sequence& sequence) const;
  // What one map of scores adds to a row, `row_constants` being those of the map.
  Row row_of_map(const Problem& problem, const Sequence& sequence, std::vector<double> values,
                 bool storage) const;
  std::vector<double> row_constants(const Sequence& sequence, int64_t b, int64_t h, int64_t q,
                                    int64_t map) const;
  // The first columns of the keys, where values are these.
  const TensorView& values_of(const Problem& problem) const {
    return share_kv ? problem.k : problem.v;
  }
  Sequence sequence_of(const Problem& problem, int64_t b) const;
  // The keys that sparsity leaves a row.
  std::vector<int64_t> listed_keys(const Problem& problem, const Sequence& sequence, int64_t b,
                                   int64_t h, int64_t q) const;
  // Which blocks of keys the row keeps; empty if there is no block sparsity.
  std::vector<bool> kept_blocks(const Problem& problem, const Sequence& sequence, int64_t b,
                                int64_t h, int64_t q) const;
  std::optional<int64_t> row_of_blocks(const Problem& problem, const Sequence& sequence, int64_t b,
                                       int64_t h, int64_t q) const;
  void score_pairs(const Problem& problem, const Sequence& sequence, const expr::Loader& load,
                   std::vector<double>& values, bool storage, std::vector<int64_t>& keys,
                   std::vector<double>& scores) const;
  // With no pairs: the identities.
  void reduce(const expr::Loader& load, std::vector<double>& values,
              const std::vector<int64_t>& keys, const std::vector<double>& scores) const;

  spec::DType dtype;
  spec::Heads heads;
  spec::HeadDim head_dim;
  int64_t maps;
  double scale;
  bool varlen;
  spec::Spec::Sparsity sparsity;
  int64_t block_size, block_queries, block_heads;
  std::optional<int> most_blocks;
  int64_t token_count;
  bool share_kv;
  bool has_max_q, has_max_kv;
  std::vector<spec::Input> inputs;
  std::vector<std::string> names;  // of the slots
  MaybeProgram score, mask, output;
  std::vector<RowProgram> rows;
  std::optional<expr::Program> weight;
  std::vector<expr::Program> saves;
};

Oracle::Impl::Impl(const spec::Spec& s)
    : dtype(s.dtype),
      heads(s.heads),
      head_dim(s.head_dim),
      maps(s.maps),
      scale(s.scale),
      varlen(s.varlen),
      sparsity(s.sparsity),
      block_size(s.block_size),
      block_queries(s.block_queries),
      block_heads(s.block_heads),
      most_blocks(s.most_blocks),
      token_count(s.token_count),
      share_kv(s.v_prefix.has_value()),
      has_max_q(spec::has_max_seq_q(s)),
      has_max_kv(spec::has_max_seq_kv(s)),
      inputs(s.inputs),
      names(kSlotNames.begin(), kSlotNames.end()) {
  if (!is_variable(s.score, "score")) score.emplace(s.score, names);
  const expr::Expr& m = s.token_count > 0 ? s.token_mask : s.mask;
  if (!m.is_number(1)) mask.emplace(m, names);
  int count = 0;
  for (const spec::NamedExpr& row : s.normalize.rows) {
    std::vector<ReductionProgram> reductions;
    const Expr value = replace_reductions(row.value, [&](const Expr& reduction) {
      // A name that no spec can write.
      const std::string name = "reduction " + std::to_string(++count);
      reductions.push_back(
          {reduction.op() == Op::RowMax, names.size(), expr::Program(reduction.operand(0), names)});
      names.push_back(name);
      return expr::variable(name, expr::Type::Float);
    });
    expr::Program program(value, names);
    rows.push_back({std::move(reductions), names.size(), std::move(program)});
    names.push_back(row.name);
  }
  weight.emplace(s.normalize.weight, names);
  if (!is_variable(s.normalize.output, "acc")) output.emplace(s.normalize.output, names);
  for (const spec::NamedExpr& save : s.normalize.saves) saves.emplace_back(save.value, names);
}

Extent Oracle::Impl::extent_of(const spec::Input::Dim& dim, const Problem& problem,
                               const Sequence& sequence) const {
  using Kind = spec::Input::Dim::Kind;
  switch (dim.kind) {
    case Kind::Batch:
      return all_of(problem.batch);
    case Kind::Heads:
      return all_of(heads.q);
    case Kind::HeadsKv:
      return all_of(heads.kv());
    case Kind::SeqQ:
    case Kind::Seq:
      return sequence.queries;
    case Kind::SeqKv:
      return sequence.keys;
    case Kind::HeadDim:
      return all_of(head_dim.v);
    case Kind::Number:
      break;
  }
  return all_of(dim.number);
}

expr::Loader Oracle::Impl::loader(const Problem& problem, const Sequence& sequence) const {
  return [this, &problem, &sequence](std::string_view name, std::span<const int64_t> indices) {
    const auto input = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const spec::Input& i) { return i.name == name; });
    const auto data = problem.inputs.find(name);
    if (input == inputs.end() || data == problem.inputs.end()) return kNaN;
    int64_t offset = 0;
    for (size_t i = 0; i < input->shape.size() && i < indices.size(); ++i) {
      const Extent extent = extent_of(input->shape[i], problem, sequence);
      if (extent.length <= 0) return 0.0;
      offset = offset * extent.in_memory + extent.begin +
               std::clamp<int64_t>(indices[i], 0, extent.length - 1);
    }
    return static_cast<size_t>(offset) < data->second.size() ? data->second[offset] : kNaN;
  };
}

Sequence Oracle::Impl::sequence_of(const Problem& problem, int64_t b) const {
  const TensorView& v = values_of(problem);
  if (!varlen) {
    return {all_of(problem.seq_q), all_of(problem.seq_kv), problem.q.data + b * problem.q.batch,
            problem.k.data + b * problem.k.batch, v.data + b * v.batch};
  }
  const auto extent = [&](const char* name) -> Extent {
    const auto offset = [&](int64_t i) { return number_of(problem, name, i); };
    return {offset(b + 1) - offset(b), offset(b), offset(problem.batch)};
  };
  const Extent q = extent("cu_seqlens_q"), kv = extent("cu_seqlens_kv");
  return {q, kv, problem.q.data + q.begin * problem.q.seq,
          problem.k.data + kv.begin * problem.k.seq, v.data + kv.begin * v.seq};
}

std::vector<double> Oracle::Impl::row_constants(const Sequence& sequence, int64_t b, int64_t h,
                                                int64_t q, int64_t map) const {
  std::vector<double> values(names.size(), kNaN);
  const auto put = [&values](Slot slot, int64_t value) {
    values[slot] = static_cast<double>(value);
  };
  put(kB, b);
  put(kH, h);
  put(kHKv, h / heads.group());
  put(kQIdx, q);
  put(kQPos, q + sequence.keys.length - sequence.queries.length);
  put(kSeqQ, sequence.queries.length);
  put(kSeqKv, sequence.keys.length);
  put(kMap, map);
  return values;
}

// Of the query, in the blocks' tensors; none where it is beyond them.
std::optional<int64_t> Oracle::Impl::row_of_blocks(const Problem& problem, const Sequence& sequence,
                                                   int64_t b, int64_t h, int64_t q) const {
  const int64_t head = h / (heads.q / block_heads);
  if (varlen && !has_max_q) return head * sequence.queries.in_memory + sequence.queries.begin + q;
  const int64_t length = has_max_q ? number_of(problem, "max_seq_q") : problem.seq_q;
  const int64_t height = (length + block_queries - 1) / block_queries, cell = q / block_queries;
  if (cell >= height) return std::nullopt;
  return (b * block_heads + head) * height + cell;
}

std::vector<bool> Oracle::Impl::kept_blocks(const Problem& problem, const Sequence& sequence,
                                            int64_t b, int64_t h, int64_t q) const {
  if (block_size == 0) return {};
  const auto blocks = [this](int64_t keys) { return (keys + block_size - 1) / block_size; };
  const int64_t own = blocks(sequence.keys.length);  // of the sequence
  const int64_t width = has_max_kv ? blocks(number_of(problem, "max_seq_kv")) : own;
  std::vector<bool> kept(static_cast<size_t>(own));
  const std::optional<int64_t> row = row_of_blocks(problem, sequence, b, h, q);
  if (!row) return kept;
  const int64_t least = std::min(own, width);
  if (sparsity == spec::Spec::Sparsity::BlockBitmap) {
    for (int64_t j = 0; j < least; ++j) {
      kept[static_cast<size_t>(j)] = element_of(problem, "block_mask", *row * width + j) != 0;
    }
  } else {
    const double count = element_of(problem, "block_counts", *row);
    const int64_t room = most_blocks.value_or(width);
    for (int64_t i = 0; i < room && static_cast<double>(i) < count; ++i) {
      const double j = element_of(problem, "block_indices", *row * room + i);
      if (j >= 0 && j < static_cast<double>(least)) kept[static_cast<size_t>(j)] = true;
    }
  }
  return kept;
}

std::vector<int64_t> Oracle::Impl::listed_keys(const Problem& problem, const Sequence& sequence,
                                               int64_t b, int64_t h, int64_t q) const {
  std::vector<int64_t> keys;
  const auto length = static_cast<double>(sequence.keys.length);
  if (token_count > 0) {
    const int64_t head = h / heads.group();
    const int64_t row = varlen ? head * sequence.queries.in_memory + sequence.queries.begin + q
                               : (b * heads.kv() + head) * problem.seq_q + q;
    const double count = element_of(problem, "token_counts", row);
    for (int64_t i = 0; i < token_count && static_cast<double>(i) < count; ++i) {
      const double j = element_of(problem, "token_indices", row * token_count + i);
      if (j >= 0 && j < length) keys.push_back(static_cast<int64_t>(j));
    }
    return keys;
  }
  const std::vector<bool> kept = kept_blocks(problem, sequence, b, h, q);
  for (int64_t j = 0; j < sequence.keys.length; ++j) {
    if (kept.empty() || kept[static_cast<size_t>(j / block_size)]) keys.push_back(j);
  }
  return keys;
}

void Oracle::Impl::score_pairs(const Problem& problem, const Sequence& sequence,
                               const expr::Loader& load, std::vector<double>& values, bool storage,
                               std::vector<int64_t>& keys, std::vector<double>& scores) const {
  const auto b = static_cast<int64_t>(values[kB]);
  const auto h = static_cast<int64_t>(values[kH]);
  const auto h_kv = static_cast<int64_t>(values[kHKv]);
  const auto q = static_cast<int64_t>(values[kQIdx]);
  const auto map = static_cast<int64_t>(values[kMap]);
  const float* query = sequence.q + q * problem.q.seq + (maps * h + map) * problem.q.head;
  for (const int64_t j : listed_keys(problem, sequence, b, h, q)) {
    values[kKvIdx] = static_cast<double>(j);
    if (mask && (*mask)(values, load) == 0) continue;
    const float* key = sequence.k + j * problem.k.seq + (maps * h_kv + map) * problem.k.head;
    const double product = dot(query, key, head_dim.qk);
    values[kScore] = scale * (storage ? product + dot_error(query, key, head_dim.qk) : product);
    const double s = score ? (*score)(values, load) : values[kScore];
    keys.push_back(j);
    scores.push_back(storage ? round_to(dtype, s) : s);
  }
}

void Oracle::Impl::reduce(const expr::Loader& load, std::vector<double>& values,
                          const std::vector<int64_t>& keys,
                          const std::vector<double>& scores) const {
  for (const RowProgram& row : rows) {
    for (const ReductionProgram& reduction : row.reductions) {
      double result = reduction.max ? -kInfinity : 0;
      for (size_t i = 0; i < keys.size(); ++i) {
        values[kKvIdx] = static_cast<double>(keys[i]);
        values[kScore] = scores[i];
        const double element = reduction.element(values, load);
        if (!reduction.max) {
          result += element;
        } else if (!(element <= result)) {  // NaN stays
          result = std::isnan(result) ? result : element;
        }
      }
      values[reduction.slot] = result;
    }
    values[row.slot] = row.value(values, load);
  }
}

Row Oracle::Impl::row_of_map(const Problem& problem, const Sequence& sequence,
                             std::vector<double> values, bool storage) const {
  const auto stored = [&](double x) { return storage ? round_to(dtype, x) : x; };
  const TensorView& v = values_of(problem);
  const expr::Loader load = loader(problem, sequence);
  std::vector<int64_t> keys;
  std::vector<double> scores;
  score_pairs(problem, sequence, load, values, storage, keys, scores);

  Row row;
  row.pairs = static_cast<int64_t>(keys.size());
  row.o.assign(static_cast<size_t>(head_dim.v), 0.0);
  const bool empty =
      std::all_of(scores.begin(), scores.end(), [](double s) { return s == -kInfinity; });
  if (empty) {
    keys.clear();
    scores.clear();
  }
  reduce(load, values, keys, scores);
  for (size_t i = 0; i < keys.size(); ++i) {
    values[kKvIdx] = static_cast<double>(keys[i]);
    values[kScore] = scores[i];
    const double factor = stored((*weight)(values, load));
    const auto h_kv = static_cast<int64_t>(values[kHKv]);
    const float* value = sequence.v + keys[i] * v.seq + h_kv * v.head;
    for (size_t d = 0; d < row.o.size(); ++d) row.o[d] += factor * static_cast<double>(value[d]);
  }
  if (!empty) {
    for (size_t d = 0; d < row.o.size(); ++d) {
      values[kAcc] = row.o[d];
      values[kD] = static_cast<double>(d);
      row.o[d] = stored(output ? (*output)(values, load) : row.o[d]);
    }
  }
  for (const expr::Program& save : saves) {
    const double value = save(values, load);
    row.saves.push_back(empty && std::isnan(value) ? -kInfinity : value);
  }
  return row;
}

Oracle::Oracle(const spec::Spec& spec) : impl_(std::make_unique<Impl>(spec)) {}
Oracle::~Oracle() = default;

Row Oracle::row(const Problem& problem, int64_t b, int64_t h, int64_t q,
                Arithmetic arithmetic) const {
  const Impl& impl = *impl_;
  const bool storage = arithmetic == Arithmetic::Storage;
  const Sequence sequence = impl.sequence_of(problem, b);
  Row sum = impl.row_of_map(problem, sequence, impl.row_constants(sequence, b, h, q, 0), storage);
  for (int64_t map = 1; map < impl.maps; ++map) {
    const Row other =
        impl.row_of_map(problem, sequence, impl.row_constants(sequence, b, h, q, map), storage);
    for (size_t d = 0; d < sum.o.size(); ++d) {
      sum.o[d] += other.o[d];
      if (storage) sum.o[d] = round_to(impl.dtype, sum.o[d]);
    }
    sum.saves.insert(sum.saves.end(), other.saves.begin(), other.saves.end());
  }
  return sum;
}

}  // namespace attngen::attention
