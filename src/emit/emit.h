// From a spec and its schedules to the files a user checks in.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/search.h"
#include "spec/spec.h"
#include "target/target.h"
#include "text/diagnostics.h"

namespace attngen::emit {

struct File {
  std::string name;  // no folder: "llama3_8b_h100.cu"
  std::string content;
};

// One target's choice.
struct Choice {
  const target::Target* target = nullptr;
  schedule::Candidate candidate;
  bool replayed = false;  // given by --schedule, not found by the search
};

// The names alone, without a search: for --print-outputs.
std::vector<std::string> output_names(const spec::Spec& spec,
                                      std::span<const target::Target* const> targets);

// Refuses, by name and at its place in the spec, what no template carries yet: "pass 'backward' is
// not emitted yet for h100". Call it before the search. True if nothing is refused.
bool check_supported(const spec::Spec& spec, const target::Target& target,
                     text::Diagnostics& diagnostics);

// <name>_<target>.cu for each choice, <name>.h, <name>.json. A pure function: same input, same
// bytes. Throws std::logic_error, with file and line, if a template of ours is malformed.
std::vector<File> emit(const spec::Spec& spec, const attention::RowForm& rows,
                       const std::vector<Choice>& choices);

// Writes what differs, through renames once all of it is on the disk; leaves equal files untouched.
// The error is one line; on an error no file is half written, and unless it is a rename's none is
// new. Creates `folder` if it is missing. What is there and no file, such as a device, is an error.
std::optional<std::string> write(const std::string& folder, const std::vector<File>& files);

// Into what a path leads to, without a rename: a device or a pipe stays what it is.
std::optional<std::string> write_into(const std::string& path, const std::string& content);

}  // namespace attngen::emit
