// The specs of specs/variants, with heads and head dims small enough for a test on the CPU.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace attngen::testing {

// The text of each file, by its name.
inline std::map<std::string, std::string> variant_files() {
  std::map<std::string, std::string> files;
  const std::string folder = ATTNGEN_SOURCE_DIR "/specs/variants";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    std::stringstream content;
    content << file.rdbuf();
    files[entry.path().stem().string()] = content.str();
  }
  return files;
}

// The same spec with `header` (attngen, name, dtype, heads, head_dim) in place of its own.
inline std::string with_header(const std::string& header, const std::string& text) {
  std::istringstream lines(text);
  std::string result = header;
  for (std::string line; std::getline(lines, line);) {
    const std::string key = line.substr(0, line.find(':'));
    const bool replaced = key == "attngen" || key == "name" || key == "dtype" || key == "heads" ||
                          key == "head_dim" || key == "share_kv" || key == "workload";
    if (!replaced) result += line + "\n";
  }
  return result;
}

}  // namespace attngen::testing
