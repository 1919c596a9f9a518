#include "oracle_c.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attention/oracle.h"
#include "spec/read.h"

namespace {

using attngen::attention::Arithmetic;
using attngen::attention::Oracle;
using attngen::attention::Problem;
using attngen::attention::Row;
using attngen::attention::TensorView;

struct Opened {
  explicit Opened(attngen::spec::Spec s) : spec(std::move(s)), oracle(spec) {}
  attngen::spec::Spec spec;
  Oracle oracle;
};

// Of all packed sequences; 0 if their offsets are missing.
int64_t total_of(const char* offsets, const Problem& problem) {
  const auto found = problem.inputs.find(offsets);
  const bool known = found != problem.inputs.end() && !found->second.empty();
  return known ? static_cast<int64_t>(found->second.back()) : 0;
}

int64_t length_of(const attngen::spec::Input::Dim& dim, const attngen::spec::Spec& spec,
                  const Problem& problem) {
  using Kind = attngen::spec::Input::Dim::Kind;
  switch (dim.kind) {
    case Kind::Batch:
      return problem.batch;
    case Kind::Heads:
      return spec.heads.q;
    case Kind::HeadsKv:
      return spec.heads.kv();
    case Kind::SeqQ:
    case Kind::Seq:
      return spec.varlen ? total_of("cu_seqlens_q", problem) : problem.seq_q;
    case Kind::SeqKv:
      return spec.varlen ? total_of("cu_seqlens_kv", problem) : problem.seq_kv;
    case Kind::HeadDim:
      return spec.head_dim.v;
    case Kind::Number:
      break;
  }
  return dim.number;
}

TensorView view(const float* data, const int64_t* strides) {
  return {data, strides[0], strides[1], strides[2]};
}

// Nothing if an input is missing or has another size.
std::optional<Problem> to_problem(const attngen::spec::Spec& spec,
                                  const attngen_oracle_problem& given) {
  Problem problem{given.batch,
                  given.seq_q,
                  given.seq_kv,
                  view(given.q, given.q_strides),
                  view(given.k, given.k_strides),
                  view(given.v, given.v_strides),
                  {}};
  for (int64_t i = 0; i < given.input_count; ++i) {
    const double* data = given.input_data[i];
    problem.inputs[given.input_names[i]].assign(data, data + given.input_sizes[i]);
  }
  for (const attngen::spec::Input& input : spec.inputs) {
    int64_t size = 1;
    for (const auto& dim : input.shape) size *= length_of(dim, spec, problem);
    const auto found = problem.inputs.find(input.name);
    if (found == problem.inputs.end() || static_cast<int64_t>(found->second.size()) != size) {
      return std::nullopt;
    }
  }
  return problem;
}

// Whether packed sequences are given, and within the query tensor as far as `row` needs it.
bool is_packed_row(const int64_t* row, const Problem& problem) {
  const auto begins = problem.inputs.find("cu_seqlens_q");
  if (begins == problem.inputs.end()) return false;
  const auto b = static_cast<size_t>(row[0]);
  return b + 1 < begins->second.size() &&
         static_cast<double>(row[2]) < begins->second[b + 1] - begins->second[b];
}

bool in_range(const int64_t* row, const attngen::spec::Spec& spec, const Problem& problem) {
  if (spec.varlen && row[0] >= 0 && !is_packed_row(row, problem)) return false;
  return row[0] >= 0 && row[0] < problem.batch && row[1] >= 0 && row[1] < spec.heads.q &&
         row[2] >= 0 && row[2] < problem.seq_q;
}

int compute(const Opened& opened, const attngen_oracle_problem& given, const int64_t* row_list,
            int64_t row_count, Arithmetic arithmetic, int threads, double* o, double* saves) {
  const std::optional<Problem> problem = to_problem(opened.spec, given);
  if (!problem) return 3;
  for (int64_t i = 0; i < row_count; ++i) {
    if (!in_range(row_list + 3 * i, opened.spec, *problem)) return 2;
  }
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  const auto work = [&] {
    try {
      for (int64_t i = next++; i < row_count; i = next++) {
        const int64_t* at = row_list + 3 * i;
        const Row row = opened.oracle.row(*problem, at[0], at[1], at[2], arithmetic);
        std::copy(row.o.begin(), row.o.end(), o + i * opened.spec.head_dim.v);
        if (saves != nullptr) {
          std::copy(row.saves.begin(), row.saves.end(),
                    saves + i * static_cast<int64_t>(row.saves.size()));
        }
      }
    } catch (const std::exception&) {
      failed = true;
    }
  };
  {
    std::vector<std::jthread> others;
    const int64_t most = std::clamp<int64_t>(threads, 1, std::max<int64_t>(row_count, 1));
    for (int64_t i = 1; i < most; ++i) others.emplace_back(work);
    work();
  }
  return failed ? 4 : 0;
}

const Opened& opened_of(const void* oracle) { return *static_cast<const Opened*>(oracle); }

}  // namespace

void* attngen_oracle_open(const char* spec_text, const char* name, char* error, size_t error_size) {
  const auto fail = [&](const std::string& message) -> void* {
    if (error != nullptr && error_size > 0) {
      std::snprintf(error, error_size, "%s", message.c_str());
    }
    return nullptr;
  };
  try {
    attngen::text::Diagnostics diagnostics({name, spec_text});
    auto spec = attngen::spec::read(diagnostics);
    if (!spec) return fail(diagnostics.render(attngen::text::ErrorFormat::Gcc));
    if (spec->pattern != attngen::spec::Pattern::Parallel) {
      return fail("the oracle knows the parallel pattern only");
    }
    return new Opened(std::move(*spec));
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}

void attngen_oracle_close(void* oracle) { delete static_cast<Opened*>(oracle); }

int64_t attngen_oracle_head_dim_v(const void* oracle) { return opened_of(oracle).spec.head_dim.v; }

int64_t attngen_oracle_save_count(const void* oracle) {
  const attngen::spec::Spec& spec = opened_of(oracle).spec;
  return static_cast<int64_t>(spec.normalize.saves.size()) * spec.maps;
}

const char* attngen_oracle_save_name(const void* oracle, int64_t index) {
  const auto& saves = opened_of(oracle).spec.normalize.saves;
  const bool known = index >= 0 && index < attngen_oracle_save_count(oracle);
  return known ? saves[static_cast<size_t>(index) % saves.size()].name.c_str() : "";
}

int attngen_oracle_rows(const void* oracle, const attngen_oracle_problem* problem,
                        const int64_t* row_list, int64_t row_count, int arithmetic, int threads,
                        double* o, double* saves) {
  if (oracle == nullptr || problem == nullptr || row_list == nullptr || o == nullptr ||
      problem->q == nullptr || (problem->seq_kv > 0 && (!problem->k || !problem->v))) {
    return 1;
  }
  try {
    return compute(opened_of(oracle), *problem, row_list, row_count,
                   arithmetic == 0 ? Arithmetic::Exact : Arithmetic::Storage, threads, o, saves);
  } catch (const std::exception&) {
    return 4;
  }
}
