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

TEST_CASE("a pipe is neither read nor replaced") {
  const Folder folder;
  fs::create_directories(folder.path);
  const fs::path pipe = folder.path / "x.cu";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  fs::create_symlink("x.cu", folder.path / "link.cu");
  for (const std::string name : {"x.cu", "link.cu"}) {
    CHECK(write(folder.path.string(), {{"first.h", "x"}, {name, "one\n"}}) ==
          "cannot write '" + (folder.path / name).string() +
              "': it is a device, a pipe or a socket");
  }
  CHECK(fs::is_fifo(pipe));
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 2);
}

TEST_CASE("a link to a file, or to none, is replaced") {
  const Folder folder;
  REQUIRE_FALSE(write(folder.path.string(), {{"there.h", "old\n"}}));
  for (const std::string name : {"there.h", "none.h"}) {
    fs::create_symlink(name, folder.path / "link.h");
    REQUIRE_FALSE(write(folder.path.string(), {{"link.h", "new\n"}}));
    CHECK(fs::is_regular_file(fs::symlink_status(folder.path / "link.h")));
    fs::remove(folder.path / "link.h");
  }
  CHECK(read(folder.path / "there.h") == "old\n");
  CHECK_FALSE(fs::exists(folder.path / "none.h"));
}

TEST_CASE("what is written into stays what it is") {
  const Folder folder;
  REQUIRE_FALSE(write(folder.path.string(), {{"x.d", "old and longer\n"}}));
  fs::create_symlink("x.d", folder.path / "link.d");
  CHECK_FALSE(write_into((folder.path / "link.d").string(), "new\n"));
  CHECK(fs::is_symlink(folder.path / "link.d"));
  CHECK(read(folder.path / "x.d") == "new\n");
  CHECK(write_into(folder.path.string(), "new\n") ==
        "cannot write '" + folder.path.string() + "': Is a directory");
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
