#include "cli/files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace attngen::cli {
namespace {

namespace fs = std::filesystem;

struct Close {
  void operator()(std::FILE* file) const {
    if (file != stdin) {
      std::fclose(file);  // opened to read: nothing can be lost
    }
  }
};

// A path as a word of a Make rule. Ninja and Make agree on these escapes; on none for *, ? and [,
// which are patterns to Make.
std::string escape(std::string_view path) {
  std::string word;
  for (const char c : path) {
    if (c == ' ' || c == '#' || c == ':') {
      word += '\\';
    } else if (c == '$') {
      word += '$';
    }
    word += c;
  }
  return word;
}

}  // namespace

ReadText read_text(const std::string& path, size_t limit) {
  const auto failure = [&path] {
    return ReadText{{}, fmt::format("cannot read '{}': {}", path, std::strerror(errno))};
  };
  const std::unique_ptr<std::FILE, Close> file(path == "-" ? stdin
                                                           : std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return failure();
  }
  ReadText result;
  result.content.resize(limit + 1);
  result.content.resize(std::fread(result.content.data(), 1, limit + 1, file.get()));
  return std::ferror(file.get()) != 0 ? failure() : result;
}

Artefact artefact_of(std::string_view file_name) {
  if (file_name.ends_with(".h")) {
    return Artefact::Header;
  }
  return file_name.ends_with(".json") ? Artefact::Manifest : Artefact::Kernel;
}

std::string path_in(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

std::optional<FileId> file_id(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileId{found.st_dev, found.st_ino};
}

std::string full_path(const std::string& path) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(path, ignored);
  return (fs::weakly_canonical(whole.parent_path(), ignored) / whole.filename()).string();
}

bool is_written_into(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(fs::symlink_status(path, ignored));
}

bool leads_to(const std::string& path, int descriptor) {
  struct stat open {};
  return ::fstat(descriptor, &open) == 0 && file_id(path) == FileId{open.st_dev, open.st_ino};
}

Differences differences(const std::string& folder, const std::vector<emit::File>& files) {
  Differences found;
  for (const emit::File& file : files) {
    const std::string path = path_in(folder, file.name);
    std::error_code ignored;
    const fs::file_type type = fs::status(path, ignored).type();
    if (type == fs::file_type::not_found) {
      found.lines += fmt::format("missing: {}\n", path);
      continue;
    }
    // Whoever reads them waits for a writer.
    if (type == fs::file_type::fifo || type == fs::file_type::character) {
      found.lines += fmt::format("differs: {}\n", path);
      continue;
    }
    const ReadText there = read_text(path, file.content.size());
    if (!there.error.empty()) {
      found.errors.push_back(there.error);
    } else if (there.content != file.content) {
      found.lines += fmt::format("differs: {}\n", path);
    }
  }
  return found;
}

std::string depfile_text(const std::vector<Rule>& rules) {
  std::string text;
  for (const Rule& rule : rules) {
    std::string words;
    for (const std::string& output : rule.outputs) {
      words += (words.empty() ? "" : " ") + escape(output);
    }
    words += ":";
    for (const std::string& input : rule.inputs) {
      words += " " + escape(input);
    }
    text += words + "\n";
  }
  return text;
}

}  // namespace attngen::cli
