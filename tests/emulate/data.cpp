#include "data.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "expr/evaluate.h"

namespace attngen::emulate {
namespace {

using Element = spec::Input::Element;
using Kind = spec::Input::Dim::Kind;

// Of packed sequences one batch of all rows.
hold::Extent extent(const spec::Spec& spec, const Call& call, bool keys, int heads, int head_dim) {
  using hold::StrideKind;
  const bool shares = call.strides == StrideKind::Shared;
  const int64_t length = keys ? call.max_kv : call.max_q,
                total = keys ? call.total_kv : call.total_q;
  return {spec.varlen ? 1 : call.batch(),
          spec.varlen ? total : length,
          heads,
          head_dim,
          shares && !keys ? StrideKind::Padded : call.strides,
          spec.layout};
}

bool along_sequence(const spec::Input& input) {
  return !input.shape.empty() && spec::is_length(input.shape.back().kind);
}

// Whether the mask says by its elements, of [.., seq_kv], which keys exist.
bool marks_keys(const spec::Spec& spec, const spec::Input& input) {
  const std::vector<std::string> read = expr::inputs_of(spec.mask);
  return input.element == Element::U8 && !input.shape.empty() &&
         input.shape.back().kind == Kind::SeqKv && std::ranges::count(read, input.name) > 0;
}

// Whether a query and a key by their numbers say which pairs exist.
bool knows_pairs(const expr::Expr& mask) {
  const std::vector<std::string> names = expr::variables_of(mask);
  return expr::inputs_of(mask).empty() && std::ranges::none_of(names, [](const std::string& name) {
           return name == "b" || name == "h" || name == "h_kv" || name == "map";
         });
}

// Of five sequences: the third is left with all rows, and the others with none.
std::vector<double> scattered(double total) {
  const double most = 0x1p31 - 1, least = -0x1p31, half = std::floor(total / 2);
  return {most, half, least, most, half, least};
}

double poison_of(Element element, double value) {
  if (element == Element::I32) return value + 1'000'000;  // ascending if it was
  return element == Element::U8 ? value : std::nan("");
}

}  // namespace

Data::Data(const spec::Spec& spec, Call call, const std::map<std::string, std::string>& fills,
           uint32_t seed)
    : spec_(spec),
      call_(std::move(call)),
      random_(seed),
      q_(spec.dtype, extent(spec, call_, false, spec.maps * spec.heads.q, spec.head_dim.qk)),
      k_(spec.dtype, extent(spec, call_, true, spec.maps * spec.heads.kv(), spec.head_dim.qk)),
      v_(spec.dtype, extent(spec, call_, true, spec.heads.kv(), spec.head_dim.v)),
      o_(spec.dtype, extent(spec, call_, false, spec.heads.q, spec.head_dim.v)) {
  q_.draw(call_.large ? 60 : 1, random_);
  k_.draw(1, random_);
  v_.draw(1, random_);
  if (call_.opposed) oppose(q_, k_);
  for (size_t i = 0; i < spec.normalize.saves.size(); ++i) {
    saves_.emplace_back(call_.total_q * spec.maps * spec.heads.q, 4);
  }
  problem_ = {call_.batch(), call_.max_q, call_.max_kv, q_.view(), k_.view(), v_.view(), {}};
  draw_blocks();
  draw_lists();
  // What one packed sequence holds must not reach another.
  if (spec.varlen && call_.batch() > 2) poisoned_ = 1;
  for (const spec::Input& input : spec.inputs) {
    const auto how = fills.find(input.name);
    std::vector<double> values = how == fills.end()
                                     ? drawn(input)
                                     : hold::fill(spec, input, lengths(), how->second, random_());
    if (poisoned_ >= 0) poison(input, values);
    put(input, std::move(values));
  }
  if (spec.varlen) draw_offsets();
  if (poisoned_ >= 0) {
    const Sequence& s = call_.sequences[static_cast<size_t>(poisoned_)];
    for (int64_t row = s.kv_begin; row < s.kv_begin + s.seq_kv; ++row) {
      k_.poison(0, row);
      v_.poison(0, row);
    }
  }
  if (spec.page) draw_pages();
}

hold::Lengths Data::lengths() const {
  return {call_.batch(), call_.max_q, call_.max_kv, call_.total_q, call_.total_kv};
}

// The poisoned sequence's elements of an input along sequences.
void Data::poison(const spec::Input& input, std::vector<double>& values) const {
  const Sequence& s = call_.sequences[static_cast<size_t>(poisoned_)];
  int64_t inner = 1;  // elements of one query or key
  for (size_t i = input.shape.size(); i-- > 0;) {
    const spec::Input::Dim& dim = input.shape[i];
    const int64_t length = lengths().of(spec_, dim);
    if (!spec::is_length(dim.kind)) {
      inner *= length;
      continue;
    }
    const bool keys = dim.kind == Kind::SeqKv;
    const int64_t begin = keys ? s.kv_begin : s.q_begin;
    const int64_t end = begin + (keys ? s.seq_kv : s.seq_q);
    for (size_t j = 0; j < values.size(); ++j) {
      const int64_t place = static_cast<int64_t>(j) / inner % length;
      if (place >= begin && place < end) values[j] = poison_of(input.element, values[j]);
    }
  }
}

Tensor& Data::tensor(char letter) {
  if (pages_ && letter == 'k') return *paged_k_;
  if (pages_ && letter == 'v') return *paged_v_;
  return letter == 'q' ? q_ : letter == 'k' ? k_ : letter == 'v' ? v_ : o_;
}

bool Data::wrote_outside() const {
  bool clean = !o_.wrote_outside();
  for (const Guarded& save : saves_) clean = clean && save.clean();
  return !clean;
}

std::vector<std::pair<const uint8_t*, size_t>> Data::behind() const {
  std::vector<std::pair<const uint8_t*, size_t>> all;
  for (const auto& [name, array] : arrays_) all.push_back(array.behind());
  return all;
}

void Data::put(const std::string& name, const std::vector<std::byte>& bytes, size_t behind) {
  BeforeFault& memory = arrays_.try_emplace(name, bytes.size(), behind).first->second;
  if (!bytes.empty()) std::memcpy(memory.data(), bytes.data(), bytes.size());
}

void Data::put(const spec::Input& input, std::vector<double> values) {
  const std::vector<std::byte> bytes = hold::store(input, values);
  // Where copies take 16 bytes at a time, the last one may be less than that.
  const auto pairs = attention::pair_input(spec_);
  const bool by_tiles = pairs && pairs->input.name == input.name;
  const bool copied =
      by_tiles || (input.shape.size() > 1 && input.shape.back().kind == Kind::Number);
  const bool ends_within = copied && bytes.size() % 16 != 0 && random_() % 2 == 0;
  put(input.name, bytes, ends_within ? static_cast<size_t>(spec::bytes_of(input.element)) : 0);
  problem_.inputs[input.name] = std::move(values);
}

// The blocks in any order, as far as there are places one of them once more and two that do not
// exist; then others, which are not meant. Returns how many count: more than there is room for, if
// there were more blocks.
double Data::scramble(std::vector<double>& list, int64_t width, int64_t places) {
  std::shuffle(list.begin(), list.end(), random_);
  const auto room = [&] { return static_cast<int64_t>(list.size()) < places; };
  if (room() && !list.empty()) list.push_back(list.front());
  if (room()) list.push_back(-1);
  if (room()) list.insert(list.begin(), static_cast<double>(width));
  const auto count = static_cast<double>(list.size());
  for (int64_t j = 0; room(); ++j) list.push_back(static_cast<double>(j));
  list.resize(static_cast<size_t>(places));
  return count;
}

// What says how blocks of packed sequences are laid out: a little more than the longest has, or
// half of that.
int64_t Data::draw_max(const char* name, int64_t longest) {
  const int64_t max =
      call_.exceeding ? longest / 2 : longest + static_cast<int64_t>(random_() % 200);
  put({name, Element::I32, {}}, {static_cast<double>(max)});
  return max;
}

// Heads and queries that keep blocks: in packed sequences single queries stand as they do.
int64_t Data::block_rows() {
  if (spec_.varlen && !spec::has_max_seq_q(spec_)) return spec_.block_heads * call_.total_q;
  const int64_t length = spec_.varlen ? draw_max("max_seq_q", call_.max_q) : call_.max_q;
  const int64_t height = (length + spec_.block_queries - 1) / spec_.block_queries;
  return call_.batch() * spec_.block_heads * height;
}

// A third of the blocks; every fifth row of blocks keeps none, every seventh all.
void Data::draw_blocks() {
  if (spec_.block_size == 0) return;
  const int64_t rows = block_rows();
  const int64_t keys =
      spec::has_max_seq_kv(spec_) ? draw_max("max_seq_kv", call_.max_kv) : call_.max_kv;
  const int64_t width = (keys + spec_.block_size - 1) / spec_.block_size;
  std::vector<double> mask, counts, indices;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<double> list;
    for (int64_t j = 0; j < width; ++j) {
      const bool kept = row % 5 != 4 && (row % 7 == 6 || random_() % 3 == 0);
      mask.push_back(kept ? static_cast<double>(1 + random_() % 255) : 0);
      if (kept) list.push_back(static_cast<double>(j));
    }
    counts.push_back(scramble(list, width, spec_.most_blocks.value_or(width)));
    indices.insert(indices.end(), list.begin(), list.end());
  }
  const std::vector<spec::Input::Dim> some{{}};
  if (spec_.sparsity == spec::Spec::Sparsity::BlockBitmap) {
    return put({"block_mask", Element::U8, some}, mask);
  }
  put({"block_counts", Element::I32, some}, counts);
  put({"block_indices", Element::I32, some}, indices);
}

// Keys in no order, some that do not exist, and some twice where that may be. Every fifth list is
// empty, every seventh counts more than it has room for.
void Data::draw_lists() {
  if (spec_.token_count == 0) return;
  const auto room = static_cast<size_t>(spec_.token_count);
  const int64_t queries = spec_.varlen ? call_.total_q : call_.batch() * call_.max_q;
  const int64_t rows = spec_.heads.kv() * queries;
  std::vector<double> counts, indices;
  for (int64_t row = 0; row < rows; ++row) {
    const size_t count = row % 5 == 4 ? 0 : row % 7 == 6 ? room + 5 : random_() % (room + 1);
    counts.push_back(static_cast<double>(count));
    const auto places = static_cast<uint32_t>(call_.max_kv) + 3;  // one before, two behind
    std::vector<double> keys;
    if (spec_.distinct_tokens) {
      for (uint32_t i = 0; i < places; ++i) keys.push_back(static_cast<double>(i) - 1);
      std::shuffle(keys.begin(), keys.end(), random_);
      keys.resize(room, -1);
    } else {
      for (size_t i = 0; i < room; ++i) keys.push_back(static_cast<double>(random_() % places) - 1);
    }
    indices.insert(indices.end(), keys.begin(), keys.end());
  }
  const std::vector<spec::Input::Dim> some{{}};
  put({"token_counts", Element::I32, some}, counts);
  put({"token_indices", Element::I32, some}, indices);
}

void Data::draw_offsets() {
  std::vector<double> q{0}, kv{0};
  for (const Sequence& s : call_.sequences) {
    q.push_back(q.back() + static_cast<double>(s.seq_q));
    kv.push_back(kv.back() + static_cast<double>(s.seq_kv));
  }
  put_offsets("cu_seqlens_q", q);
  put_offsets("cu_seqlens_kv", kv);
}

void Data::draw_pages() {
  pages_.emplace(spec_, call_, random_);
  paged_k_.emplace(pages_->laid_out(k_, spec_.dtype));
  paged_v_.emplace(pages_->laid_out(v_, spec_.dtype));
  put({"page_table", Element::I32, {{}}}, pages_->table());
}

int64_t Data::of_pages(std::string_view name) const {
  if (name == "page_size") return *spec_.page;
  if (name == "num_pages") return pages_->count();
  return !spec_.varlen && call_.strides == hold::StrideKind::Default ? 0 : pages_->table_stride();
}

void Data::put_offsets(const std::string& name, const std::vector<double>& offsets) {
  const spec::Input input{name, Element::I32, {{}}};
  put(input, offsets);
  if (!call_.wild) return;
  std::vector<double> wild = scattered(offsets.back());
  put(name, hold::store(input, wild));  // the oracle's stay
}

std::vector<double> Data::drawn(const spec::Input& input) {
  std::vector<double> values(static_cast<size_t>(lengths().count(spec_, input)));
  const bool real = input.element == Element::F32;
  const bool half = input.element == Element::Bf16 || input.element == Element::Fp16;
  for (double& x : values) {
    x = real   ? -0.01 * static_cast<double>(1 + random_() % 30)
        : half ? static_cast<double>(random_() % 15) / 4 - 1.75  // which 16 bits hold
               : static_cast<double>(random_() % 4);
  }
  if (input.sorted) {
    draw_ascending(values, lengths().of(spec_, input.shape.back()));
  } else if (marks_keys(spec_, input)) {
    draw_valid(values, input);
  } else if (input.element == Element::I32 && along_sequence(input)) {
    draw_stretches(values);
  }
  const auto pairs = attention::pair_input(spec_);
  const bool by_place = knows_pairs(spec_.mask);
  if (pairs && !pairs->of_mask && pairs->input.name == input.name && by_place) {
    if (!pairs->shift) {
      poison_absent(values);
    } else if (knows_index(*pairs)) {
      poison_unread(values, *pairs);
    }
  }
  return values;
}

// Whether a query and a key by their numbers say where their element is, and no other load reads
// the input.
bool Data::knows_index(const attention::PairInput& pairs) const {
  const expr::Expr& first = pairs.shift->first;
  const std::vector<std::string> names = expr::variables_of(first);
  const bool of_lengths = std::ranges::all_of(
      names, [](const std::string& name) { return name == "seq_q" || name == "seq_kv"; });
  const auto* const other = expr::find_node(spec_.score, [&](const expr::Expr& e) {
    return e.op() == expr::Op::Load && e.name() == pairs.input.name && !expr::same(e, pairs.load);
  });
  return of_lengths && expr::inputs_of(first).empty() && other == nullptr;
}

// What an expression of a pair alone reads.
std::map<std::string_view, int64_t> Data::numbers_of(int64_t query, int64_t key) const {
  return {{"q_idx", query},
          {"q_pos", query + call_.max_kv - call_.max_q},
          {"kv_idx", key},
          {"seq_q", call_.max_q},
          {"seq_kv", call_.max_kv}};
}

// Of [.., seq_q, columns], what is of no pair that exists is NaN.
void Data::poison_unread(std::vector<double>& values, const attention::PairInput& pairs) const {
  const int64_t columns = lengths().of(spec_, pairs.input.shape.back());
  const expr::Expr& index = pairs.load.operands().back();
  std::vector<bool> read(static_cast<size_t>(call_.max_q * columns));
  for (int64_t q = 0; q < call_.max_q; ++q) {
    for (int64_t key = 0; key < call_.max_kv; ++key) {
      const std::map<std::string_view, int64_t> numbers = numbers_of(q, key);
      const auto number = [&](std::string_view name) {
        return static_cast<double>(numbers.at(name));
      };
      if (expr::evaluate(spec_.mask, number) == 0) continue;
      const auto column = static_cast<int64_t>(expr::evaluate(index, number));
      read[static_cast<size_t>(q * columns + std::clamp<int64_t>(column, 0, columns - 1))] = true;
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!read[i % read.size()]) values[i] = std::nan("");
  }
}

// Of [.., seq_q, seq_kv], what the mask leaves out is NaN: it must reach no pair. The mask knows a
// query and a key by their numbers alone.
void Data::poison_absent(std::vector<double>& values) const {
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / call_.max_kv;
    const std::map<std::string_view, int64_t> numbers =
        numbers_of(row % call_.max_q, static_cast<int64_t>(i) % call_.max_kv);
    const auto number = [&](std::string_view name) {
      return static_cast<double>(numbers.at(name));
    };
    if (expr::evaluate(spec_.mask, number) == 0) values[i] = std::nan("");
  }
}

// Of [.., keys]: documents of about 20 keys, one of them of 60.
void Data::draw_ascending(std::vector<double>& values, int64_t keys) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto place = static_cast<int64_t>(i) % keys;
    const bool next = place > 0 && (place < 40 || place > 100) && random_() % 20 == 0;
    values[i] = (place == 0 ? 0 : values[i - 1]) + (next ? 1 : 0);
  }
}

// Ids in no order, of about 30 tokens each.
void Data::draw_stretches(std::vector<double>& values) {
  double id = 0;
  for (double& x : values) {
    if (random_() % 30 == 0) id = static_cast<double>(random_() % 12) - 4;
    x = id;
  }
}

// A key's number in its own sequence.
int64_t Data::index_of(int64_t key) const {
  for (const Sequence& s : call_.sequences) {
    if (key >= s.kv_begin && key < s.kv_begin + s.seq_kv) return key - s.kv_begin;
  }
  return key;
}

// No key of every third 128 exists, and some of the others. Of [batch, keys], and of [batch,
// queries, keys], those 128 are NaN: who visits a block of them has it in the results.
void Data::draw_valid(std::vector<double>& values, const spec::Input& input) {
  const int64_t keys = lengths().of(spec_, input.shape.back());
  const bool of_all_heads = !spec::has_dim(input, spec::Input::Dim::Kind::Heads) &&
                            !spec::has_dim(input, spec::Input::Dim::Kind::HeadsKv);
  const int64_t rows = spec::has_dim(input, spec::Input::Dim::Kind::SeqQ) ? call_.max_q : 1;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto key = static_cast<int64_t>(i) % keys;
    const bool none = index_of(key) / 128 % 3 == 1;
    values[i] = none || random_() % 9 == 0 ? 0 : static_cast<double>(1 + random_() % 255);
    if (!none || !of_all_heads) continue;
    const int64_t batch = static_cast<int64_t>(i) / keys / rows;
    k_.poison(batch, key);
    v_.poison(batch, key);
  }
}

}  // namespace attngen::emulate
