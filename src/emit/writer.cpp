// Files to disk: only what differs, through a rename.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "emit/emit.h"

namespace attngen::emit {
namespace {

namespace fs = std::filesystem;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using Handle = std::unique_ptr<std::FILE, Close>;

// Whether the file is there with these bytes; a file that cannot be read differs.
bool holds(const fs::path& path, const std::string& content) {
  const Handle file(std::fopen(path.c_str(), "rb"));
  if (!file) return false;
  std::string buffer(content.size() + 1, '\0');  // one more, to see a longer file
  const size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get());
  return count == content.size() && buffer.compare(0, count, content) == 0;
}

std::string error_text(const fs::path& path, int code) {
  return fmt::format("cannot write '{}': {}", path.string(), std::strerror(code));
}

// "" or the error. Flushes and closes: a full disk shows here at the latest.
std::string write_whole(const fs::path& path, const fs::path& shown, const std::string& content,
                        const char* mode = "wbx") {
  errno = 0;
  Handle file(std::fopen(path.c_str(), mode));
  if (!file) return error_text(shown, errno);
  const bool written = std::fwrite(content.data(), 1, content.size(), file.get()) == content.size();
  const int write_error = errno;
  if (std::fclose(file.release()) != 0) return error_text(shown, errno);
  return written ? "" : error_text(shown, write_error);
}

// "" or why no file can take the place of what is there.
std::string why_kept(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status there = fs::status(path, ignored);
  if (fs::is_directory(there)) return error_text(path, EISDIR);
  if (!fs::exists(there) || fs::is_regular_file(there)) return "";
  return fmt::format("cannot write '{}': it is a device, a pipe or a socket", path.string());
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

// A file's new bytes, beside it until they take its place; gone if they do not.
class Replacement {
 public:
  explicit Replacement(fs::path path) : path_(std::move(path)), temporary_(path_) {
    temporary_ += fmt::format(".{}.tmp", ::getpid());
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove(temporary_, ignored);
  }

  // Both: "" or the error.
  std::string write(const std::string& content) {
    std::error_code ignored;
    fs::remove(temporary_, ignored);  // of a killed process that had our id
    return write_whole(temporary_, path_, content);
  }
  std::string take_place() {
    std::error_code code;
    fs::rename(temporary_, path_, code);
    if (code) return error_text(path_, code.value());
    temporary_.clear();
    return "";
  }

 private:
  fs::path path_, temporary_;
};

}  // namespace

std::optional<std::string> write(const std::string& folder, const std::vector<File>& files) {
  for (const File& file : files) {
    if (!is_plain_name(file.name)) {
      return fmt::format("refusing to write '{}': not a plain file name", file.name);
    }
  }
  std::error_code code;
  fs::create_directories(folder, code);
  std::error_code ignored;  // what cannot be asked about is none either
  if (code && !fs::is_directory(folder, ignored)) {
    return fmt::format("cannot create folder '{}': {}", folder, std::strerror(code.value()));
  }
  // All are written before the first takes its place: a full disk leaves no mixed set, nor does a
  // folder or a device in a file's place.
  std::deque<Replacement> replacements;
  for (const File& file : files) {
    const fs::path path = fs::path(folder) / file.name;
    std::string error = why_kept(path);
    if (error.empty() && !holds(path, file.content)) {
      error = replacements.emplace_back(path).write(file.content);
    }
    if (!error.empty()) return error;
  }
  for (Replacement& replacement : replacements) {
    std::string error = replacement.take_place();
    if (!error.empty()) return error;
  }
  return std::nullopt;
}

std::optional<std::string> write_into(const std::string& path, const std::string& content) {
  std::string error = write_whole(path, path, content, "wb");
  return error.empty() ? std::nullopt : std::optional(std::move(error));
}

}  // namespace attngen::emit
