#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "emit_test_support.h"

namespace attngen::emit {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::string& command, int& status) {
  std::string output;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "cannot run " + command;
  std::array<char, 4096> buffer;
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    output.append(buffer.data(), n);
  }
  status = ::pclose(pipe);
  return output;
}

}  // namespace

bool has_program(const std::string& name) {
  int status = 1;
  output_of("command -v " + name, status);
  if (status != 0) MESSAGE("skipped: " << name << " not found");
  return status == 0;
}

bool has_nvcc() {
#ifdef ATTNGEN_SANITIZED
  MESSAGE("skipped: a build without the sanitizer compiles the same kernels");
  return false;
#else
  return has_program("nvcc");
#endif
}

std::string compile(const std::string& command, const std::string& suffix,
                    const std::string& text) {
  static int count = 0;
  const fs::path file = fs::temp_directory_path() / ("attngen_emit_" + std::to_string(::getpid()) +
                                                     "_" + std::to_string(count++) + suffix);
  std::ofstream(file) << text;
  std::string line = command;
  for (size_t at = 0; (at = line.find("{}", at)) != std::string::npos;) {
    line.replace(at, 2, file.string());
  }
  int status = 1;
  std::string output = output_of(line, status);
  if (status != 0) output += "\nfailed: " + line;
  fs::remove(file);
  return output;
}

TEST_CASE("compile reports failures") {
  CHECK(compile("cc -fsyntax-only -x c {}", ".c", "int x;\n") == "");
  CHECK(compile("cc -fsyntax-only -x c {}", ".c", "int x\n") != "");
}

}  // namespace attngen::emit
