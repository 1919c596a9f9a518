// A checked attention spec: the value that every later room reads (docs/spec.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/expr.h"
#include "text/diagnostics.h"

namespace attngen::spec {

enum class Pattern : uint8_t { Parallel, Recurrent };
enum class DType : uint8_t { Bf16, Fp16 };
enum class Layout : uint8_t { Bshd, Bhsd };
enum class Pass : uint8_t { Forward, Backward, Decode, Step };

const char* name_of(Pattern);  // as a spec writes it: "parallel"
const char* name_of(DType);    // "bf16"
const char* name_of(Layout);   // "bshd"
const char* name_of(Pass);     // "forward"

// The parallel pattern has q and kv heads (k == v == kv); the recurrent one q, k and v.
struct Heads {
  int q = 1;
  int k = 1;
  int v = 1;
  int kv() const { return k; }
  int group() const { return q / k; }  // query heads that share a key head
};

struct HeadDim {
  int qk = 0;
  int v = 0;
};

// One of the user's own tensors.
struct Input {
  enum class Element : uint8_t { F32, I32, Bf16, Fp16, U8 };
  // A dimension is a name whose length the call decides, or a number.
  struct Dim {
    enum class Kind : uint8_t { Batch, Heads, HeadsKv, SeqQ, SeqKv, Seq, HeadDim, Number };
    Kind kind = Kind::Number;
    int number = 0;
  };
  std::string name;
  Element element = Element::F32;
  std::vector<Dim> shape;  // row-major; empty: a scalar argument
  bool sorted = false;     // ascending along its last dimension
};
const char* name_of(Input::Element);  // "f32"
int bytes_of(Input::Element);         // 4
bool is_length(Input::Dim::Kind);     // seq_q or seq_kv
bool has_dim(const Input&, Input::Dim::Kind);
// The variable that runs over a dimension: "kv_idx"; "" of those that have none of their own.
const char* index_of(Input::Dim::Kind);
std::string name_of(const Input::Dim&);  // "seq_kv", "32"

// What predictions take an input to hold.
struct GivenValue {
  enum class Of : uint8_t { Elements, Ids, SortedIds };
  double number = 0;  // every element; of ids, for how many queries or keys one stays the same
  Of of = Of::Elements;

  // A default has no null pointers.
  auto operator<=>(const GivenValue&) const = default;  // NOLINT(modernize-use-nullptr)
};
using Values = std::map<std::string, GivenValue, std::less<>>;  // by the input's name

// A point that the search optimises for.
struct Workload {
  int64_t batch = 1;
  int64_t seq_q = 4096;
  int64_t seq_kv = 4096;
  double weight = 1;
  Values values = {};
};
// "batch 1, seq_q 4096, seq_kv 4096, window 512"
std::string text_of(const Workload&);

// Lengths that the kernel may rely on (`fixed:`); other values are refused at run time.
struct Fixed {
  std::optional<int64_t> batch, seq_q, seq_kv;
};

struct NamedExpr {
  std::string name;
  expr::Expr value;
};

// The long form of docs/spec.md, section 2; `softmax` and `none` are spelled in it too.
// `rows` and `saves` are Float expressions; row names are Float variables, RowMax / RowSum reduce
// over the existing pairs. `weight` may read score, kv_idx and the rest of a pair; `output` reads
// `acc`, its column `d` and what is constant along a row.
struct Normalizer {
  std::vector<NamedExpr> rows;
  expr::Expr weight;
  expr::Expr output;
  std::vector<NamedExpr> saves;
};

// The recurrent pattern (docs/spec.md, section 3); parsed and checked, not emitted yet.
struct Recurrent {
  expr::Expr query, key, value, log_decay;
  expr::Expr delta, skip;  // may be empty
  expr::Expr output;       // of `acc`, which is o_t
  bool initial_state = false;
  bool final_state = false;
};

// Where values and expressions stand in the spec's text, for errors that later rooms find.
class Locations {
 public:
  // Remembers the value at a JSON pointer: bytes [begin, end) of the source.
  void put(std::string pointer, size_t begin, size_t end);
  // Remembers, for an expression at a pointer, the source byte of each byte of its text.
  void put_text(std::string pointer, std::vector<uint32_t> source_bytes);

  // A diagnostic at the value (or at the nearest enclosing value that is known).
  text::Diagnostic at(const text::Source&, std::string_view pointer, std::string message,
                      std::string help = {}) const;
  // A diagnostic at a span inside the expression at `pointer`.
  text::Diagnostic inside(const text::Source&, std::string_view pointer, expr::Span span,
                          std::string message, std::string help = {}) const;

 private:
  struct Range {
    size_t begin = 0, end = 0;
  };
  std::map<std::string, Range, std::less<>> ranges_;
  std::map<std::string, std::vector<uint32_t>, std::less<>> texts_;
};

struct Spec {
  std::string name;
  std::string doc;
  Pattern pattern = Pattern::Parallel;
  DType dtype = DType::Bf16;
  Heads heads;
  HeadDim head_dim;
  // Of scores of each pair, over one V: q and k have so many heads for one of v and o, side by side
  // (head 2 h + m is map m of head h), and O is the sum of the maps' outputs.
  int maps = 1;
  Layout layout = Layout::Bshd;
  bool varlen = false;
  std::optional<int> page;      // kv_cache: {paged: N}
  std::optional<int> v_prefix;  // share_kv: {v_prefix: N}
  double scale = 1;             // resolved: 1/sqrt(head_dim.qk) by default
  std::vector<Pass> passes{Pass::Forward};
  std::vector<Input> inputs;  // in the order of the spec
  std::vector<std::pair<std::string, double>> constants;
  Fixed fixed;
  std::vector<Workload> workload{Workload{}};
  std::vector<std::string> targets{"h100"};

  // Parallel pattern. `score`: Float, of `score` (already scaled), indices, inputs. `mask`: Bool.
  expr::Expr score;
  expr::Expr mask;
  Normalizer normalize;
  // As the user wrote them (or the default), for the comments of emitted kernels: one line each, of
  // normalize a line per value in the long form ("m = rowmax(score)"), of constants all in one
  // ("cap = 30.0, window = 128").
  std::string score_text, mask_text, normalize_text, constants_text;
  // The names of `let` and the texts that they stand for, a line each.
  std::vector<std::pair<std::string, std::string>> lets;
  // Section 5 of the language.
  enum class Sparsity : uint8_t { None, BlockBitmap, BlockIndices, TokenIndices };
  Sparsity sparsity = Sparsity::None;
  int block_size = 0;      // keys of a block
  int block_queries = 0;   // neighbours that keep the same blocks: mostly as many
  int block_heads = 0;     // that keep blocks of their own: as many as query heads, or as key heads
  bool rows_alike = true;  // a row of blocks keeps mostly what the one before keeps
  std::optional<int> most_blocks;  // that a list names; otherwise it has room for all
  // Lists of tokens: for how many keys a list has room. A list says by itself which pairs there
  // are: what the user wrote as `mask` is asked of these, and `mask` is `true`.
  int token_count = 0;
  bool distinct_tokens = false;  // no key stands twice in a list
  expr::Expr token_mask;
  // Not of what a user writes (attention/listed.h): the lists come as part of `mask`.
  bool lists_as_mask = false;
  bool gathers_lists() const { return token_count > 0 && !lists_as_mask; }

  std::optional<Recurrent> recurrent;

  // A hash of the meaning: equal for the same spec in JSON and YAML, whatever its spacing and
  // comments.
  std::string hash;  // 16 hexadecimal digits
  Locations locations;

  const Input* find_input(std::string_view name) const;  // nullptr if there is none
};

// Which lengths, that no packed sequence exceeds, say how the blocks' tensors are laid out. Rows of
// single queries are packed as these are, and lists of `most` blocks take as much for any length.
inline bool has_max_seq_q(const Spec& s) { return s.varlen && s.block_queries > 1; }
inline bool has_max_seq_kv(const Spec& s) { return s.varlen && s.block_size > 0 && !s.most_blocks; }

}  // namespace attngen::spec
