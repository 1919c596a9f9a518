#include "cli/files.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

using attngen::cli::Artefact;
using attngen::cli::artefact_of;
using attngen::cli::depfile_text;
using attngen::cli::Differences;
using attngen::cli::differences;
using attngen::cli::path_in;
using attngen::cli::read_text;

TEST_CASE("A file's kind is its extension") {
  CHECK(artefact_of("a_h100.cu") == Artefact::Kernel);
  CHECK(artefact_of("a_mi250.hip") == Artefact::Kernel);
  CHECK(artefact_of("a.h") == Artefact::Header);
  CHECK(artefact_of("a.json") == Artefact::Manifest);
}

TEST_CASE("Paths are joined as the user wrote the folder") {
  CHECK(path_in("", "a.h") == "a.h");
  CHECK(path_in("out", "a.h") == "out/a.h");
  CHECK(path_in("out/", "a.h") == "out/a.h");
}

TEST_CASE("A depfile escapes what Make would read otherwise") {
  CHECK(depfile_text({{{"out/a.cu", "out/a.h"}, {"my spec.yaml", "$x#1", "c:d"}}, {{"b.h"}, {}}}) ==
        "out/a.cu out/a.h: my\\ spec.yaml $$x\\#1 c\\:d\n"
        "b.h:\n");
}

TEST_CASE("Reading stops one byte behind the limit and says why it failed") {
  CHECK(read_text("/dev/zero", 10).content.size() == 11);
  CHECK(read_text("/no/such/file", 10).error ==
        "cannot read '/no/such/file': No such file or directory");
  CHECK(read_text(ATTNGEN_SOURCE_DIR, 10).error == "cannot read '" ATTNGEN_SOURCE_DIR
                                                   "': Is a directory");
}

TEST_CASE("A pipe in the folder differs, and is not read") {
  const std::string folder =
      std::filesystem::temp_directory_path() / ("attngen_files_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  REQUIRE(::mkfifo(path_in(folder, "x.cu").c_str(), 0600) == 0);
  const Differences found = differences(folder, {{"x.cu", "x"}});
  std::filesystem::remove_all(folder);
  CHECK(found.lines == "differs: " + path_in(folder, "x.cu") + "\n");
  CHECK(found.errors.empty());
}
