// Reading what the user names and comparing what attngen would write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "emit/emit.h"

namespace attngen::cli {

// The text of a file, or of standard input for "-". Reads no more than `limit` + 1 bytes, so that
// an endless file ends; the reader of the text refuses it by its size.
struct ReadText {
  std::string content;
  std::string error;  // "cannot read 'a.yaml': No such file or directory"; empty if it was read
};
ReadText read_text(const std::string& path, size_t limit);

Artefact artefact_of(std::string_view file_name);

// "out/name.h"; the bare name if no folder is given.
std::string path_in(const std::string& folder, const std::string& name);

// What the paths that lead to one file have in common; nothing of a file that does not exist.
using FileId = std::pair<uint64_t, uint64_t>;  // device and inode
std::optional<FileId> file_id(const std::string& path);
// The same, of files that need not exist, if the last of a path is no link.
std::string full_path(const std::string& path);

// Of a depfile: whether what is there stays, a link such as /dev/stdout, a device or a pipe.
bool is_written_into(const std::string& path);
// Whether the path leads to what the descriptor is open on: a file may hold more than we write.
bool leads_to(const std::string& path, int descriptor);

// One line for each file that the folder lacks or holds with other bytes: "missing: out/a.h",
// "differs: out/a_h100.cu"; none if a write would change nothing. The errors of ReadText for files
// that are there, but cannot be read.
struct Differences {
  std::string lines;
  std::vector<std::string> errors;
};
Differences differences(const std::string& folder, const std::vector<emit::File>& files);

// A Make rule: all outputs from all inputs, in the order given.
struct Rule {
  std::vector<std::string> outputs;
  std::vector<std::string> inputs;
};
std::string depfile_text(const std::vector<Rule>& rules);

}  // namespace attngen::cli
