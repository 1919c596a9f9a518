#include "cli/options.h"

#include <doctest/doctest.h>

#include <initializer_list>

using attngen::cli::Artefact;
using attngen::cli::ExitCode;
using attngen::cli::Options;
using attngen::cli::parse;
using attngen::cli::Parsed;

namespace {

Parsed parse_words(std::initializer_list<const char*> words) {
  std::vector<const char*> argv{"attngen"};
  argv.insert(argv.end(), words);
  return parse(static_cast<int>(argv.size()), argv.data());
}

Options options_of(std::initializer_list<const char*> words) {
  const Parsed parsed = parse_words(words);
  CAPTURE(parsed.err);
  REQUIRE(parsed.options);
  return *parsed.options;
}

std::string error_of(std::initializer_list<const char*> words) {
  const Parsed parsed = parse_words(words);
  CHECK_FALSE(parsed.options);
  CHECK(parsed.code == ExitCode::Usage);
  CHECK(parsed.out.empty());
  return parsed.err;
}

}  // namespace

TEST_CASE("A spec and a folder are enough") {
  const Options options = options_of({"a.yaml", "-o", "out/"});
  CHECK(options.mode == Options::Mode::Write);
  CHECK(options.specs == std::vector<std::string>{"a.yaml"});
  CHECK(options.folder == "out/");
  CHECK(options.targets.empty());
  CHECK(options.wants(Artefact::Kernel));
  CHECK(options.wants(Artefact::Header));
  CHECK(options.wants(Artefact::Manifest));
}

TEST_CASE("Options and specs mix in any order; lists are comma-separated") {
  const Options options =
      options_of({"a.yaml", "--target", "h200, h100", "b.yaml", "--emit=header", "-oout", "-"});
  CHECK(options.specs == std::vector<std::string>{"a.yaml", "b.yaml", "-"});
  CHECK(options.targets == std::vector<std::string>{"h200", "h100"});
  CHECK(options.artefacts == std::vector<Artefact>{Artefact::Header});
}

TEST_CASE("--stdout means the kernel unless --emit says otherwise") {
  CHECK(options_of({"a.yaml", "--stdout"}).artefacts == std::vector<Artefact>{Artefact::Kernel});
  CHECK(options_of({"a.yaml", "--stdout", "--emit", "manifest"}).artefacts ==
        std::vector<Artefact>{Artefact::Manifest});
}

TEST_CASE("What needs no spec goes with --error-format alone") {
  CHECK(options_of({"--schema", "--error-format", "json"}).mode == Options::Mode::PrintSchema);
  CHECK(options_of({"--error-format", "json", "--list-targets"}).mode ==
        Options::Mode::ListTargets);
  CHECK(options_of({"--print-target", "h100", "--error-format=gcc"}).print_target == "h100");
}

TEST_CASE("--explain alone writes nothing") {
  CHECK(options_of({"a.yaml", "--explain"}).mode == Options::Mode::Explain);
  CHECK(options_of({"a.yaml", "--explain", "-o", "out"}).mode == Options::Mode::Write);
}

TEST_CASE("--report html goes with files") {
  CHECK_FALSE(options_of({"a.yaml", "-o", "out"}).html_report);
  CHECK(options_of({"a.yaml", "-o", "out", "--report", "html"}).html_report);
  CHECK(options_of({"a.yaml", "-o", "out", "--report", "html", "--explain"}).html_report);
  CHECK(options_of({"a.yaml", "-o", "out", "--report", "html", "--check"}).html_report);
  CHECK(options_of({"a.yaml", "--report", "html", "--print-outputs"}).html_report);
  const std::string error = "attngen: error: --report is for files that are written\nhelp: ";
  CHECK(error_of({"a.yaml", "--report", "html", "--explain"}) == error + "add -o DIR\n");
  CHECK(error_of({"a.yaml", "--report", "html", "--stdout"}) ==
        error + "give -o DIR in the place of --stdout\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--report", "htm"}) ==
        "attngen: error: unknown report 'htm'\nhelp: did you mean 'html'?\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--report", "pdf"}) ==
        "attngen: error: unknown report 'pdf'\nhelp: one of: html\n");
}

TEST_CASE("A wrong command line says what is wrong and what would be right") {
  CHECK(error_of({}) == "attngen: error: no spec is given\nhelp: attngen spec.yaml -o out/\n");
  CHECK(error_of({"a.yaml"}) ==
        "attngen: error: no output folder is given\n"
        "help: add -o DIR, or --stdout or --explain\n");
  CHECK(error_of({"a.yaml", "--emit", "kernel"}) ==
        "attngen: error: no output folder is given\nhelp: add -o DIR or --stdout\n");
  const std::string no_folder = "attngen: error: no output folder is given\nhelp: add -o DIR\n";
  CHECK(error_of({"a.yaml", "--check"}) == no_folder);
  CHECK(error_of({"a.yaml", "--report", "html"}) == no_folder);
  CHECK(error_of({"a.yaml", "--depfile", "a.d"}) == no_folder);
  CHECK(error_of({"a.yaml", "--exlain"}) ==
        "attngen: error: unknown option '--exlain'\nhelp: did you mean '--explain'?\n");
  CHECK(error_of({"a.yaml", "--out", "out"}) ==
        "attngen: error: unknown option '--out'\nhelp: did you mean '--output'?\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--target", "h101"}) ==
        "attngen: error: unknown target 'h101'\nhelp: did you mean 'h100'?\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--target", "h100,b200"}) ==
        "attngen: error: unknown target 'b200'\nhelp: one of: h100, h200, mi250\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--target", "sm_90a"}) ==
        "attngen: error: unknown target 'sm_90a'\nhelp: did you mean 'h100'?\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--target", "gfx90a"}) ==
        "attngen: error: unknown target 'gfx90a'\nhelp: did you mean 'mi250'?\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--target", "h100,h200, h100"}) ==
        "attngen: error: 'h100' is in --target twice\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--target", "gfx942"}) ==
        "attngen: error: unknown target 'gfx942'\nhelp: one of: h100, h200, mi250\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--target", "a100"}) ==
        "attngen: error: no kernels are emitted yet for a100: it has a hardware model alone\n"
        "help: one of: h100, h200, mi250\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--emit", "kernel,headr"}) ==
        "attngen: error: unknown artefact 'headr' in --emit\nhelp: did you mean 'header'?\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--error-format", "msvc"}) ==
        "attngen: error: unknown error format 'msvc'\nhelp: one of: gcc, json\n");
  CHECK(error_of({"--print-target", "h20"}) ==
        "attngen: error: unknown target 'h20'\nhelp: did you mean 'h200'?\n");
  CHECK(error_of({"--print-target", "gfx942"}) ==
        "attngen: error: unknown target 'gfx942'\nhelp: one of: a100, h100, h200, mi250\n");
  CHECK(error_of({"-", "-", "--stdout"}) == "attngen: error: standard input is given twice\n");
  CHECK(error_of({"-", "--schedule", "-", "--stdout"}) ==
        "attngen: error: standard input is given twice\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--check", "--print-outputs"}) ==
        "attngen: error: --print-outputs and --check exclude each other\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--stdout"}) ==
        "attngen: error: --stdout and -o exclude each other\n");
  CHECK(error_of({"a.yaml", "--explain", "--stdout"}) ==
        "attngen: error: --explain goes with -o or alone\n");
  CHECK(error_of({"a.yaml", "--schema"}) ==
        "attngen: error: 'a.yaml': no spec is read with this option\n");
  CHECK(error_of({"--schema", "-o", "out", "--target", "h100"}) ==
        "attngen: error: --output has no effect with --schema\n");
  CHECK(error_of({"--schema", "--depfile", "x"}) ==
        "attngen: error: --depfile has no effect with --schema\n");
  CHECK(error_of({"--schema", "--explain"}) ==
        "attngen: error: --explain has no effect with --schema\n");
  CHECK(error_of({"--list-targets", "--emit", "kernel"}) ==
        "attngen: error: --emit has no effect with --list-targets\n");
  CHECK(error_of({"--print-target", "h100", "--schedule", "nope.json"}) ==
        "attngen: error: --schedule has no effect with --print-target\n");
  CHECK(error_of({"a.yaml", "--explain", "--emit", "header"}) ==
        "attngen: error: --emit is for files that are written\nhelp: add -o DIR\n");
  const std::string depfile = "attngen: error: --depfile is for files that are written\nhelp: ";
  CHECK(error_of({"a.yaml", "--explain", "--depfile", "a.d"}) == depfile + "add -o DIR\n");
  CHECK(error_of({"a.yaml", "--stdout", "--depfile", "a.d"}) ==
        depfile + "give -o DIR in the place of --stdout\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--check", "--depfile", "a.d"}) ==
        depfile + "leave out --check\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--print-outputs", "--depfile", "a.d"}) ==
        depfile + "leave out --print-outputs\n");
  for (const std::string path : {"d/", "d/.", "..", "/", "/tmp", "a\\b.d"}) {
    CHECK(error_of({"a.yaml", "-o", "out", "--depfile", path.c_str()}) ==
          "attngen: error: --depfile '" + path +
              "' names no file\nhelp: give the file's own name, as in --depfile kernels.d\n");
  }
}

TEST_CASE("An empty value is not the same as none") {
  for (const std::string option : {"--output", "--target", "--emit", "--schedule", "--report",
                                   "--depfile", "--error-format", "--print-target"}) {
    CHECK(error_of({"a.yaml", "--explain", option.c_str(), ""}) ==
          "attngen: error: " + option + " is given an empty value\n");
  }
  CHECK(error_of({"a.yaml", "-o", ""}) == "attngen: error: --output is given an empty value\n");
  CHECK(error_of({"a.yaml", "-o", "out", "--depfile=", "--check"}) ==
        "attngen: error: --depfile is given an empty value\n");
  CHECK(error_of({"a.yaml", "--check=", "-o", "out"}) ==
        "attngen: error: --check is given an empty value\n");
  CHECK(error_of({"a.yaml", "--depfil=", "-o", "out"}) ==
        "attngen: error: unknown option '--depfil='\nhelp: did you mean '--depfile'?\n");
  CHECK(options_of({"a.yaml", "-o", "out", "--depfile=a="}).depfile == "a=");
  CHECK(options_of({"-o", "out", "--", "--depfile="}).specs ==
        std::vector<std::string>{"--depfile="});
}

TEST_CASE("Usage errors honour --error-format json") {
  CHECK(error_of({"a.yaml", "--error-format", "json"}) ==
        "{\"severity\":\"error\",\"message\":\"no output folder is given\","
        "\"help\":\"add -o DIR, or --stdout or --explain\"}\n");
}
