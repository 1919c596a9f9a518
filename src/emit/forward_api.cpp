#include "emit/forward_api.h"

#include <fmt/format.h>

#include <optional>

#include "emit/computed.h"
#include "emit/device_text.h"

namespace attngen::emit {
namespace {

using spec::Input;

// What holds of all fields alike.
std::string struct_meaning(const spec::Spec& spec) {
  return fmt::format(
      "Pointers are to device memory. {} and o must be aligned to 16 bytes, others to their "
      "element unless they say otherwise. Strides must be multiples of 8 elements, those of o "
      "positive, of {} also 0; the last dimension is contiguous, and the stride of a dimension of "
      "length 1 is ignored. All keys and values must be finite, those that the mask leaves out "
      "too. "
      "A row without a pair gives 0.",
      spec.v_prefix ? "q, k" : "q, k, v", spec.v_prefix ? "q and k" : "q, k and v");
}
constexpr const char* kWorkspaceMeaning =
    "Bytes of device memory that the call needs as its workspace, which depend on batch and "
    "lengths alone. If 0, the workspace may be null. It must be aligned to 16 bytes and need not "
    "be "
    "cleared. It must not be used by others until the call has finished on the device: calls that "
    "may overlap in time need one each.";
constexpr const char* kForwardMeaning =
    "Launches on the stream of the current device, a cudaStream_t or hipStream_t, null for the "
    "default one; args is read before the call returns. Allocates and synchronises nothing, and "
    "can be captured in a graph, which keeps the arguments and the workspace. Where the runtime "
    "refuses (BAD_DEVICE, LAUNCH_FAILED), its own last error says why.";

// "queries of each sequence; must be 49"
std::string length_meaning(const char* what, std::optional<int64_t> fixed) {
  return fixed ? fmt::format("{}; must be {}", what, *fixed) : what;
}

// `outer`: the tensor's first dimension, or "" where that is its sequence.
void add_strides(std::vector<Field>& fields, const std::string& tensor, const std::string& outer) {
  const std::string first = fmt::format("elements; {} zero: contiguous, as {}'s shape says",
                                        outer.empty() ? "both" : "all three", tensor);
  if (!outer.empty()) fields.push_back({"int64_t", tensor + "_stride_" + outer, first});
  fields.push_back({"int64_t", tensor + "_stride_seq", outer.empty() ? first : "elements"});
  fields.push_back({"int64_t", tensor + "_stride_head", "elements"});
}

// Of packed sequences: how the tensors of blocks are laid out.
void add_max_lengths(std::vector<Field>& fields, const spec::Spec& spec) {
  if (spec::has_max_seq_q(spec)) {
    fields.push_back({"int64_t", "max_seq_q",
                      "queries of the longest sequence, or more; blocks beyond keep nothing"});
  }
  if (spec::has_max_seq_kv(spec)) {
    fields.push_back({"int64_t", "max_seq_kv",
                      "keys of the longest sequence, or more; blocks beyond are not kept"});
  }
}

// Of the heads and queries that keep blocks: "batch, 8, ceil(seq_q / 64)", "8, total_q".
std::string rows_of_blocks(const spec::Spec& spec) {
  const int heads = spec.block_heads, queries = spec.block_queries;
  if (queries > 1) {
    const char* const length = spec.varlen ? "max_seq_q" : "seq_q";
    return fmt::format("batch, {}, ceil({} / {})", heads, length, queries);
  }
  return spec.varlen ? fmt::format("{}, total_q", heads) : fmt::format("batch, {}, seq_q", heads);
}

// Block sparsity: which squares of the score matrix are kept.
void add_blocks(std::vector<Field>& fields, const spec::Spec& spec) {
  add_max_lengths(fields, spec);
  const std::string rows = "[" + rows_of_blocks(spec);
  const std::string of_keys =
      fmt::format("ceil({} / {})", spec.varlen ? "max_seq_kv" : "seq_kv", spec.block_size);
  switch (spec.sparsity) {
    case spec::Spec::Sparsity::BlockBitmap:
      fields.push_back(
          {"const uint8_t*", "block_mask",
           fmt::format("{}, {}] contiguous; a block is kept where it is not 0", rows, of_keys)});
      break;
    case spec::Spec::Sparsity::BlockIndices:
      fields.push_back({"const int32_t*", "block_counts",
                        fmt::format("{}] contiguous: how many blocks of keys {} keeps", rows,
                                    spec.block_queries == 1 ? "a query" : "a block of queries")});
      fields.push_back(
          {"const int32_t*", "block_indices",
           fmt::format("{}, {}] contiguous: which, in any order; the rest does not matter", rows,
                       spec.most_blocks ? std::to_string(*spec.most_blocks) : of_keys)});
      break;
    case spec::Spec::Sparsity::None:
    case spec::Spec::Sparsity::TokenIndices:
      break;
  }
}

// A cache in pages: where those of each sequence are.
void add_pages(std::vector<Field>& fields, const spec::Spec& spec) {
  if (!spec.page) return;
  fields.push_back({"int32_t", "page_size", fmt::format("must be {}", *spec.page)});
  fields.push_back({"int64_t", "num_pages", "pages of the cache"});
  fields.push_back(
      {"const int32_t*", "page_table",
       "i32 [batch, page_table_stride]: the pages of each sequence, in the order of "
       "its keys; what follows its last key's does not matter, a number that is no page's "
       "gives keys of zeros"});
  fields.push_back({"int64_t", "page_table_stride",
                    fmt::format("elements; zero: ceil({} / {})",
                                spec.varlen ? "total_kv" : "seq_kv", *spec.page)});
}

// Token sparsity: which keys a query's list names.
void add_tokens(std::vector<Field>& fields, const spec::Spec& spec) {
  if (spec.token_count == 0) return;
  const std::string rows = spec.varlen ? fmt::format("[{}, total_q", spec.heads.kv())
                                       : fmt::format("[batch, {}, seq_q", spec.heads.kv());
  fields.push_back({"const int32_t*", "token_counts",
                    rows + "] contiguous: how many keys a query's list names"});
  fields.push_back(
      {"const int32_t*", "token_indices",
       fmt::format("{}, {}] contiguous: which, {}in any order; the rest does not matter", rows,
                   spec.token_count, spec.distinct_tokens ? "each once, " : "")});
}

// `outer`: "batch, ", "num_pages, ", or "" of packed sequences.
std::string tensor_meaning(const spec::Spec& spec, const char* role, const char* outer, int heads,
                           const std::string& length, int dim) {
  const bool bshd = spec.layout == spec::Layout::Bshd;
  return fmt::format("{}, {} [{}{}, {}, {}]", role, spec::name_of(spec.dtype), outer,
                     bshd ? length : std::to_string(heads), bshd ? std::to_string(heads) : length,
                     dim);
}

// "result, [batch, 32, seq_q] contiguous: m + log(l), natural log; null: not written"
std::string save_meaning(const spec::Spec& spec, const std::string& name, const char* length,
                         const char* by_map) {
  constexpr size_t kMost = 300;
  const std::string definition = cut_at_space(definition_of_save(spec, name), kMost);
  return fmt::format("result, [{}{}, {}] contiguous{}{}{}{}; null: not written",
                     spec.varlen ? "" : "batch, ", spec.maps * spec.heads.q, length,
                     definition.empty() ? "" : ": ", definition,
                     has_word(definition, "log") ? ", natural log" : "", by_map);
}

std::string input_meaning(const spec::Spec& spec, const Input& input) {
  std::string meaning =
      fmt::format("input, {} {}", spec::name_of(input.element), shape_text(spec, input));
  if (!input.shape.empty()) meaning += " contiguous";
  const int alignment = alignment_of(spec, input);
  if (alignment > spec::bytes_of(input.element)) {
    meaning += fmt::format(", aligned to {} bytes", alignment);
  }
  if (input.sorted) {
    const bool packed = spec.varlen && spec::is_length(input.shape.back().kind);
    meaning += fmt::format(", ascending along {}, else results are wrong",
                           packed ? "each sequence" : spec::name_of(input.shape.back()));
  }
  return meaning;
}

std::vector<Field> forward_fields(const spec::Spec& spec, const std::string& args_name) {
  const int heads_q = spec.heads.q;
  const int heads_kv = spec.heads.kv();
  const int maps = spec.maps;
  // Of q, k and what is saved: "; head 2 h + m is map m of head h".
  const char* const by_map = maps > 1 ? "; head 2 h + m is map m of head h" : "";
  const char* const length_q = spec.varlen ? "total_q" : "seq_q";
  const char* const length_kv = spec.varlen ? "total_kv" : "seq_kv";
  const char* const queries = spec.varlen ? "queries of all sequences" : "queries of each sequence";
  const char* const keys = !spec.varlen ? "keys of each sequence"
                           : spec.page  ? "keys of all sequences, or more"
                                        : "keys of all sequences";
  const char* const outer = spec.varlen ? "" : "batch, ";
  const char* const outer_kv = spec.page ? "num_pages, " : outer;
  const std::string rows_kv = spec.page ? std::to_string(*spec.page) : length_kv;
  std::vector<Field> fields{
      {"size_t", "size", "sizeof(" + args_name + ")"},
      {"int64_t", "batch", length_meaning("sequences", spec.fixed.batch)},
      {"int64_t", length_q, length_meaning(queries, spec.fixed.seq_q)},
      {"int64_t", length_kv, length_meaning(keys, spec.fixed.seq_kv)},
      {"int32_t", "heads_q", fmt::format("must be {}", heads_q)},
      {"int32_t", "heads_kv", fmt::format("must be {}", heads_kv)},
      {"const void*", "q",
       tensor_meaning(spec, "queries", outer, maps * heads_q, length_q, spec.head_dim.qk) + by_map},
      {"const void*", "k",
       tensor_meaning(spec, "keys", outer_kv, maps * heads_kv, rows_kv, spec.head_dim.qk) + by_map},
  };
  if (spec.v_prefix) {
    fields.back().meaning +=
        fmt::format("; a value is its key's first {} elements", *spec.v_prefix);
  } else {
    fields.push_back(
        {"const void*", "v",
         tensor_meaning(spec, "values", outer_kv, heads_kv, rows_kv, spec.head_dim.v)});
  }
  fields.push_back(
      {"void*", "o", tensor_meaning(spec, "result", outer, heads_q, length_q, spec.head_dim.v)});
  for (const spec::NamedExpr& save : spec.normalize.saves) {
    fields.push_back({"float*", save.name, save_meaning(spec, save.name, length_q, by_map)});
  }
  for (const char* tensor : {"q", "k", "v", "o"}) {
    if (*tensor == 'v' && spec.v_prefix) continue;
    const bool in_pages = spec.page && (*tensor == 'k' || *tensor == 'v');
    add_strides(fields, tensor, in_pages ? "page" : spec.varlen ? "" : "batch");
  }
  if (spec.varlen) {
    for (const char* of : {"q", "kv"}) {
      const bool in_pages = spec.page && *of == 'k';
      fields.push_back(
          {"const int32_t*", fmt::format("cu_seqlens_{}", of),
           in_pages ? "i32 [batch + 1], ascending from 0: how many keys the sequences before each "
                      "one have; not checked"
                    : fmt::format("i32 [batch + 1], ascending from 0 to total_{}: where each "
                                  "sequence begins; not checked",
                                  of)});
    }
  }
  add_pages(fields, spec);
  add_blocks(fields, spec);
  add_tokens(fields, spec);
  for (const Input& input : spec.inputs) {
    fields.push_back({c_type_of(input), input.name, input_meaning(spec, input)});
  }
  return fields;
}

}  // namespace

PassApi forward_api(const spec::Spec& spec) {
  PassApi api;
  api.args_name = spec.name + "_forward_args";
  api.args_meaning = struct_meaning(spec);
  api.fields = forward_fields(spec, api.args_name);
  const Parameter args{"const " + api.args_name + "*", "args"};
  api.functions = {
      {"size_t", spec.name + "_forward_workspace", {args}, kWorkspaceMeaning},
      {spec.name + "_status",
       spec.name + "_forward",
       {args, {"void*", "workspace"}, {"void*", "stream"}},
       kForwardMeaning},
  };
  return api;
}

}  // namespace attngen::emit
