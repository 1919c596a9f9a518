#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "emit/emit.h"

namespace attngen::emit {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("attngen_writer_" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("files are created with their folder") {
  const Folder folder;
  CHECK_FALSE(write((folder.path / "a/b").string(), {{"x.cu", "one\n"}, {"x.h", ""}}));
  CHECK(read(folder.path / "a/b/x.cu") == "one\n");
  CHECK(fs::file_size(folder.path / "a/b/x.h") == 0);
}

TEST_CASE("an equal file is left alone, a different one replaced") {
  const Folder folder;
  REQUIRE_FALSE(write(folder.path.string(), {{"x.cu", "one\n"}}));
  const fs::path file = folder.path / "x.cu";
  const auto old = fs::last_write_time(file) - std::chrono::hours(1);
  fs::last_write_time(file, old);
  REQUIRE_FALSE(write(folder.path.string(), {{"x.cu", "one\n"}}));
  CHECK(fs::last_write_time(file) == old);
  for (const char* content : {"two\n", "two", "two and more\n", ""}) {
    REQUIRE_FALSE(write(folder.path.string(), {{"x.cu", content}}));
    CHECK(read(file) == content);
    CHECK(fs::last_write_time(file) != old);
  }
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
}

TEST_CASE("names are plain") {
  const Folder folder;
  for (const std::string name : {"a/b", "/b", "..", ".", "", "a\\b"}) {
    CHECK(write(folder.path.string(), {{"ok.cu", "x"}, {name, "x"}}) ==
          "refusing to write '" + name + "': not a plain file name");
  }
  CHECK_FALSE(fs::exists(folder.path));
}

TEST_CASE("errors carry the system's reason") {
  const Folder folder;
  fs::create_directories(folder.path / "x.cu");
  CHECK(write(folder.path.string(), {{"first.h", "x"}, {"x.cu", "x"}}) ==
        "cannot write '" + (folder.path / "x.cu").string() + "': Is a directory");
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);

  std::ofstream(folder.path / "file") << "x";
  CHECK(write((folder.path / "file").string(), {{"x.h", "x"}}) ==
        "cannot create folder '" + (folder.path / "file").string() + "': Not a directory");
  CHECK(write((folder.path / "file/deeper").string(), {{"x.h", "x"}}) ==
        "cannot create folder '" + (folder.path / "file/deeper").string() + "': Not a directory");
  CHECK(read(folder.path / "file") == "x");

  fs::create_symlink("loop", folder.path / "loop");
  CHECK(write((folder.path / "loop/x").string(), {{"x.h", "x"}}) ==
        "cannot create folder '" + (folder.path / "loop/x").string() +
            "': Too many levels of symbolic links");
  const std::string long_name(300, 'x');
  CHECK(write(long_name, {{"x.h", "x"}}) ==
        "cannot create folder '" + long_name + "': File name too long");
}

TEST_CASE("a pipe is replaced, not read") {
  const Folder folder;
  fs::create_directories(folder.path);
  REQUIRE(::mkfifo((folder.path / "x.cu").c_str(), 0600) == 0);
  REQUIRE_FALSE(write(folder.path.string(), {{"x.cu", "one\n"}}));
  CHECK(read(folder.path / "x.cu") == "one\n");
}

TEST_CASE("a file that cannot be written leaves the others as they were") {
  const Folder folder;
  REQUIRE_FALSE(write(folder.path.string(), {{"x.cu", "one\n"}}));
  CHECK(write(folder.path.string(), {{"x.cu", "two\n"}, {std::string(300, 'x'), "x"}}));
  CHECK(read(folder.path / "x.cu") == "one\n");
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
}

// Of a name too long rather than without permission: nothing is forbidden to root.
TEST_CASE("a file that cannot be created") {
  const Folder folder;
  const std::string name(300, 'x');
  CHECK(write(folder.path.string(), {{name, "x"}}) ==
        "cannot write '" + (folder.path / name).string() + "': File name too long");
  CHECK(fs::is_empty(folder.path));
}

}  // namespace
}  // namespace attngen::emit
