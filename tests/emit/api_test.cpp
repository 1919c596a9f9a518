#include "emit/api.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "emit/layout.h"
#include "emit_test_support.h"

namespace attngen::emit {
namespace {

// Everything that the interface depends on, without reading a text.
spec::Spec example() {
  spec::Spec spec;
  spec.name = "mpt_7b";
  spec.heads = {32, 8, 8};
  spec.head_dim = {128, 64};
  spec.normalize.saves = {{"lse", {}}, {"peak", {}}};
  using Element = spec::Input::Element;
  using Kind = spec::Input::Dim::Kind;
  spec.inputs = {{"slopes", Element::F32, {{Kind::Heads, 0}}, false},
                 {"doc_id", Element::I32, {{Kind::Batch, 0}, {Kind::SeqKv, 0}}, true},
                 {"keep", Element::U8, {{Kind::SeqKv, 0}}, false},
                 {"bias", Element::Bf16, {{Kind::Number, 32}}, false},
                 {"half_scalar", Element::Fp16, {}, false},
                 {"cap", Element::F32, {}, false},
                 {"window", Element::I32, {}, false}};
  return spec;
}

TEST_CASE("fields stand in the order of the contract") {
  const Api api = api_of(example());
  REQUIRE(api.passes.size() == 1);
  std::string order;
  for (const Field& field : api.passes[0].fields) order += field.c_type + " " + field.name + "; ";
  CHECK(order ==
        "size_t size; int64_t batch; int64_t seq_q; int64_t seq_kv; int32_t heads_q; "
        "int32_t heads_kv; const void* q; const void* k; const void* v; void* o; float* lse; "
        "float* peak; int64_t q_stride_batch; int64_t q_stride_seq; int64_t q_stride_head; "
        "int64_t k_stride_batch; int64_t k_stride_seq; int64_t k_stride_head; "
        "int64_t v_stride_batch; int64_t v_stride_seq; int64_t v_stride_head; "
        "int64_t o_stride_batch; int64_t o_stride_seq; int64_t o_stride_head; "
        "const float* slopes; const int32_t* doc_id; const uint8_t* keep; const uint16_t* bias; "
        "float half_scalar; float cap; int32_t window; ");
}

TEST_CASE("two maps have twice the heads in q, k and what is saved, and no new argument") {
  const std::string lines = "layout: bhsd\nmask: kv_idx <= q_pos\n";
  const Api one = api_of(spec_of(lines)), two = api_of(spec_of(lines + "maps: 2\n"));
  const std::vector<Field>&fields = one.passes[0].fields, &twice = two.passes[0].fields;
  REQUIRE(fields.size() == twice.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    CHECK(fields[i].c_type == twice[i].c_type);
    CHECK(fields[i].name == twice[i].name);
    const std::string& name = fields[i].name;
    const bool by_map = name == "q" || name == "k" || name == "lse";
    CHECK((fields[i].meaning != twice[i].meaning) == by_map);
    const std::string& meaning = twice[i].meaning;
    if (name == "q") {
      CHECK(meaning == "queries, bf16 [batch, 64, seq_q, 128]; head 2 h + m is map m of head h");
    } else if (name == "k") {
      CHECK(meaning == "keys, bf16 [batch, 16, seq_kv, 128]; head 2 h + m is map m of head h");
    } else if (name == "lse") {
      CHECK(meaning ==
            "result, [batch, 64, seq_q] contiguous: log(rowsum(exp(score))), natural log; head 2 h "
            "+ m is map m of head h; null: not written");
    } else if (name == "heads_q") {
      CHECK(meaning == "must be 32");
    }
  }
}

// What the header says of a field.
std::string meaning_of(const Api& api, std::string_view name) {
  for (const Field& field : api.passes[0].fields) {
    if (field.name == name) return field.meaning;
  }
  return "no such field";
}

TEST_CASE("a field says what the caller must see to") {
  const Api api =
      api_of(spec_of("fixed: {batch: 2, seq_q: 49}\ninputs:\n"
                     "  doc: {dtype: i32, shape: [batch, seq_kv], sorted: true}\n"
                     "  rank: {dtype: i32, shape: [seq_q], sorted: true}\n"
                     "  cap: {dtype: f32, shape: []}\n"));
  CHECK(meaning_of(api, "batch") == "sequences; must be 2");
  CHECK(meaning_of(api, "seq_q") == "queries of each sequence; must be 49");
  CHECK(meaning_of(api, "seq_kv") == "keys of each sequence");
  CHECK(meaning_of(api, "o_stride_batch") ==
        "elements; all three zero: contiguous, as o's shape says");
  CHECK(meaning_of(api, "doc") ==
        "input, i32 [batch, seq_kv] contiguous, ascending along seq_kv, else results are wrong");
  CHECK(meaning_of(api, "rank") ==
        "input, i32 [seq_q] contiguous, ascending along seq_q, else results are wrong");
  CHECK(meaning_of(api, "cap") == "input, f32 scalar");

  const Api packed = api_of(
      spec_of("varlen: true\ninputs: {doc: {dtype: i32, shape: [heads, seq_kv], sorted: true}}\n"
              "mask: doc[h, q_pos] == doc[h, kv_idx]\n"));
  CHECK(meaning_of(packed, "doc") ==
        "input, i32 [heads, total_kv] contiguous, ascending along each sequence, else results are "
        "wrong");
  CHECK(meaning_of(packed, "o_stride_seq") == "elements; both zero: contiguous, as o's shape says");
  CHECK(meaning_of(packed, "cu_seqlens_kv") ==
        "i32 [batch + 1], ascending from 0 to total_kv: where each sequence begins; not checked");
}

TEST_CASE("packed sequences keep blocks of tensors that their greatest lengths lay out") {
  const auto meaning = [](const char* blocks, const char* field) {
    return meaning_of(api_of(spec_of(std::string("varlen: true\nblocks: ") + blocks)), field);
  };
  const char* const bitmap = "{size: 128, from: bitmap}\n";
  CHECK(meaning(bitmap, "max_seq_q") ==
        "queries of the longest sequence, or more; blocks beyond keep nothing");
  CHECK(meaning(bitmap, "max_seq_kv") ==
        "keys of the longest sequence, or more; blocks beyond are not kept");
  CHECK(meaning(bitmap, "block_mask") ==
        "[batch, 32, ceil(max_seq_q / 128), ceil(max_seq_kv / 128)] contiguous; a block is kept "
        "where it is not 0");
  const char* const chosen = "{size: 64, queries: 1, from: indices, per: heads_kv}\n";
  CHECK(meaning(chosen, "max_seq_q") == "no such field");
  CHECK(meaning(chosen, "block_counts") ==
        "[8, total_q] contiguous: how many blocks of keys a query keeps");
  CHECK(meaning(chosen, "block_indices") ==
        "[8, total_q, ceil(max_seq_kv / 64)] contiguous: which, in any order; the rest does not "
        "matter");
  const char* const few = "{size: 64, queries: 1, from: indices, most: 16}\n";
  CHECK(meaning(few, "max_seq_kv") == "no such field");
  CHECK(meaning(few, "block_indices") ==
        "[32, total_q, 16] contiguous: which, in any order; the rest does not matter");
}

TEST_CASE("lists of tokens") {
  const Api api = api_of(spec_of("tokens: {indices: 2048}\n"));
  CHECK(meaning_of(api, "token_counts") ==
        "[batch, 8, seq_q] contiguous: how many keys a query's list names");
  CHECK(meaning_of(api, "token_indices") ==
        "[batch, 8, seq_q, 2048] contiguous: which, in any order; the rest does not matter");
  const Api packed = api_of(spec_of("varlen: true\ntokens: {indices: 2048, distinct: true}\n"));
  CHECK(meaning_of(packed, "token_counts") ==
        "[8, total_q] contiguous: how many keys a query's list names");
  CHECK(meaning_of(packed, "token_indices") ==
        "[8, total_q, 2048] contiguous: which, each once, in any order; the rest does not matter");
}

TEST_CASE("values that are the keys' first columns have no argument") {
  const Api api = api_of(spec_of("share_kv: {v_prefix: 128}\n"));
  CHECK(meaning_of(api, "k") ==
        "keys, bf16 [batch, seq_kv, 8, 128]; a value is its key's first 128 elements");
  CHECK(meaning_of(api, "v") == "no such field");
  CHECK(meaning_of(api, "v_stride_seq") == "no such field");
}

TEST_CASE("caches in pages") {
  const Api api = api_of(spec_of("kv_cache: {paged: 64}\n"));
  CHECK(meaning_of(api, "k") == "keys, bf16 [num_pages, 64, 8, 128]");
  CHECK(meaning_of(api, "v") == "values, bf16 [num_pages, 64, 8, 128]");
  CHECK(meaning_of(api, "k_stride_page") ==
        "elements; all three zero: contiguous, as k's shape says");
  CHECK(meaning_of(api, "k_stride_batch") == "no such field");
  CHECK(meaning_of(api, "q_stride_batch") ==
        "elements; all three zero: contiguous, as q's shape says");
  CHECK(meaning_of(api, "page_size") == "must be 64");
  CHECK(meaning_of(api, "page_table_stride") == "elements; zero: ceil(seq_kv / 64)");
  const Api packed = api_of(spec_of("kv_cache: {paged: 16}\nvarlen: true\nlayout: bhsd\n"));
  CHECK(meaning_of(packed, "v") == "values, bf16 [num_pages, 8, 16, 128]");
  CHECK(meaning_of(packed, "total_kv") == "keys of all sequences, or more");
  CHECK(meaning_of(packed, "cu_seqlens_kv") ==
        "i32 [batch + 1], ascending from 0: how many keys the sequences before each one have; not "
        "checked");
  CHECK(meaning_of(packed, "q_stride_seq") == "elements; both zero: contiguous, as q's shape says");
  CHECK(meaning_of(packed, "page_table_stride") == "elements; zero: ceil(total_kv / 16)");
}

TEST_CASE("a saved value is defined in the spec's words") {
  const Api api =
      api_of(spec_of("normalize:\n  rows: {m: rowmax(score), l: rowsum(exp(score - m))}\n"
                     "  weight: exp(score - m)\n  output: acc / l\n"
                     "  save: {lse: m + log(l), two: m + log2(l), most: m}\n"));
  const std::string shape = "result, [batch, 32, seq_q] contiguous: ";
  CHECK(meaning_of(api, "lse") == shape + "m + log(l), natural log; null: not written");
  CHECK(meaning_of(api, "two") == shape + "m + log2(l); null: not written");
  CHECK(meaning_of(api, "most") == shape + "m; null: not written");
  CHECK(meaning_of(api_of(spec_of("")), "lse") ==
        shape + "log(rowsum(exp(score))), natural log; null: not written");
}

TEST_CASE("a prototype that is too long is broken between parameters") {
  const Api api = api_of(
      spec_of_text("attngen: 1\nname: a_name_of_twenty_five\ndtype: bf16\nheads: {q: 1, kv: 1}\n"
                   "head_dim: {qk: 64, v: 64}\n"));
  CHECK(header(api, "").find(
            "\na_name_of_twenty_five_status a_name_of_twenty_five_forward(\n    const "
            "a_name_of_twenty_five_forward_args* args, void* workspace, void* stream);\n") !=
        std::string::npos);
}

TEST_CASE("the header is C99 and C++") {
  const std::string text = header(api_of(example()), "// mpt_7b\n\n");
  CHECK(text.starts_with("// mpt_7b\n\n#ifndef MPT_7B_H_\n"));
  for (const char* command :
       {"cc -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c {}",
        "c++ -std=c++98 -Wall -Wextra -Werror -fsyntax-only -Wno-long-long -x c++ {}",
        "c++ -std=c++20 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c++ {}"}) {
    CHECK(compile(command, ".h", text) == "");
  }
  const std::string use =
      text +
      "mpt_7b_status call(void* stream) {\n"
      "  mpt_7b_forward_args args = {0};\n"
      "  args.size = sizeof(args);\n"
      "  if (mpt_7b_forward_workspace(&args) != 0) return MPT_7B_BAD_WORKSPACE;\n"
      "  return mpt_7b_status_string(MPT_7B_OK) ? mpt_7b_forward(&args, 0, stream) : MPT_7B_OK;\n"
      "}\n";
  CHECK(compile("cc -std=c99 -pedantic -Wall -Werror -fsyntax-only -x c {}", ".c", use) == "");
}

TEST_CASE("lines of the header fit") {
  const Api api = api_of(example());
  std::istringstream lines(header(api, "") + laid_out(source_api(example(), api, {"batch"})));
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 100);
  }
}

TEST_CASE("status texts name what a call has") {
  const Api paged = api_of(spec_of("kv_cache: {paged: 64}\n"));
  CHECK(paged.statuses[4].text.ends_with("the page size is not the kernel's"));
  const Api latent = api_of(spec_of("share_kv: {v_prefix: 128}\n"));
  CHECK(latent.statuses[3].text.find(": q, k, o, workspace") != std::string::npos);
}

TEST_CASE("status texts are those of the templates") {
  const Api api = api_of(example());
  CHECK(api.statuses.size() == 10);
  for (const char* path :
       {"/templates/hopper/parts/launch.cuh", "/templates/cdna2/parts/launch.h"}) {
    std::ifstream file(std::string(ATTNGEN_SOURCE_DIR) + path);
    std::stringstream launch;
    launch << file.rdbuf();
    for (const Status& status : api.statuses) {
      const std::string line = "    case ATTENTION_" + status.name.substr(7) +
                               ":\n      return \"" + status.text + "\";\n";
      INFO(path, " ", line);
      CHECK(launch.str().find(line) != std::string::npos);
    }
  }
}

TEST_CASE("the kernel's side of the interface") {
  const std::string text = source_api(example(), api_of(example()), {"batch"});
  CHECK(text.find("Inputs inputs_of(const mpt_7b_forward_args& args) {") != std::string::npos);
  CHECK(text.find("static_cast<int>(args.batch), args.slopes") != std::string::npos);
  CHECK(text.find("if (args.slopes == nullptr) return MPT_7B_NULL_POINTER;") != std::string::npos);
  CHECK(text.find("reinterpret_cast<uintptr_t>(args.bias) % 2 != 0") != std::string::npos);
  CHECK(text.find("args.keep) %") == std::string::npos);
  CHECK(text.find("args.cap ==") == std::string::npos);
  CHECK(
      text.find("if (reinterpret_cast<uintptr_t>(args.peak) % 4 != 0) return MPT_7B_MISALIGNED;") !=
      std::string::npos);

  spec::Spec bare;
  bare.name = "bare";
  const std::string none = source_api(bare, api_of(bare), {});
  CHECK(none.find("Inputs inputs_of(const bare_forward_args&) { return {}; }") !=
        std::string::npos);
  CHECK(none.find("Saves saves_of(const bare_forward_args&) { return {}; }") != std::string::npos);
}

}  // namespace
}  // namespace attngen::emit
