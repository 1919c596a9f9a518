// The command line as a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.h"
#include "text/diagnostics.h"

namespace attngen::cli {

enum class Artefact : unsigned char { Kernel, Header, Manifest };

struct Options {
  // What to do. Write and Check need a folder; Explain alone writes nothing.
  enum class Mode : unsigned char {
    Write,
    Check,         // compare the folder with what would be written
    Stdout,        // print the one file
    PrintOutputs,  // print the paths alone, without a search
    Explain,       // print the rankings alone
    PrintSchema,
    ListTargets,
    PrintTarget,
  };
  Mode mode = Mode::Write;
  std::vector<std::string> specs;    // paths; "-" is standard input
  std::string folder;                // -o
  std::vector<std::string> targets;  // all known, none twice; empty: those of each spec
  std::vector<Artefact> artefacts;
  std::string schedule;      // path of a schedule to replay
  std::string depfile;       // path to write
  std::string print_target;  // a known target
  bool explain = false;
  bool html_report = false;
  text::ErrorFormat error_format = text::ErrorFormat::Gcc;

  bool wants(Artefact artefact) const;
};

// Options, or what to print and the exit code: --help and --version give Ok and `out`, a wrong
// command line gives Usage and `err`.
struct Parsed {
  std::optional<Options> options;
  ExitCode code = ExitCode::Ok;
  std::string out, err;
};
Parsed parse(int argc, const char* const* argv);

// What would be right instead of an unknown target: the one that is near, or all that have kernels.
std::string help_on_target(std::string_view name);

// One line about no text in particular: "attngen: error: ...", or a JSON object.
std::string format_error(text::ErrorFormat format, const std::string& message,
                         const std::string& help = {});

}  // namespace attngen::cli
