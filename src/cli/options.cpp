#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "target/target.h"
#include "text/characters.h"

namespace attngen::cli {
namespace {

// The values as typed, before they are checked against each other.
struct Raw {
  std::vector<std::string> specs;
  std::string output, target, emit, schedule, report, depfile, print_target;
  std::string error_format = "gcc";
  bool explain = false, check = false, to_stdout = false, print_outputs = false;
  bool schema = false, list_targets = false;
};

// A wrong command line; `help` as in text::Diagnostic.
struct UsageError {
  std::string message;
  std::string help;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  attngen llama.yaml -o out/                   kernel, header and manifest\n"
    "  attngen *.yaml -o generated/ --check         exit 1 if anything would change\n"
    "  attngen llama.yaml --target h200 --explain   the ranking and why\n"
    "  attngen llama.yaml -o out/ --report html     the same as a page\n"
    "  attngen - --stdout < llama.yaml              the kernel, to the terminal\n"
    "\n"
    "Exit status: 0 done, 1 wrong spec, 2 wrong usage, 3 no feasible schedule,\n"
    "4 input or output failed, 70 a defect of attngen itself.";

void declare(CLI::App& app, Raw& raw) {
  app.set_help_flag("-h,--help", "Print this and exit");
  app.set_version_flag("--version", "attngen " ATTNGEN_VERSION, "Print the version and exit");
  app.get_formatter()->column_width(26);
  app.footer(kExamples);
  app.add_option("specs", raw.specs, "JSON or YAML files; - is standard input")->type_name("");
  app.add_option("-o,--output", raw.output, "Write into this folder")->type_name("DIR");
  app.add_option("--target", raw.target, "Comma-separated GPUs; overrides the spec")
      ->type_name("LIST");
  app.add_option("--emit", raw.emit, "Comma-separated: kernel,header,manifest; default: all")
      ->type_name("LIST");
  app.add_option("--schedule", raw.schedule, "Use this schedule instead of searching")
      ->type_name("FILE");
  app.add_flag("--explain", raw.explain, "Print the ranked schedules and why");
  app.add_option("--report", raw.report, "html: a page of the search beside each kernel")
      ->type_name("KIND");
  app.add_flag("--check", raw.check, "Write nothing; exit 1 if DIR would change");
  app.add_flag("--stdout", raw.to_stdout, "Print the kernel instead of writing files");
  app.add_flag("--print-outputs", raw.print_outputs, "Print the paths, without a search");
  app.add_option("--depfile", raw.depfile, "Write the inputs as a Make rule")->type_name("FILE");
  app.add_option("--error-format", raw.error_format, "gcc or json; default: gcc")->type_name("F");
  app.add_flag("--schema", raw.schema, "Print the JSON Schema of a spec");
  app.add_flag("--list-targets", raw.list_targets, "Print the known GPUs, and which have kernels");
  app.add_option("--print-target", raw.print_target, "Print a GPU's model")->type_name("NAME");
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> items;
  while (true) {
    const size_t comma = list.find(',');
    items.emplace_back(text::trim(list.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return items;
    }
    list.remove_prefix(comma + 1);
  }
}

std::string one_of(const std::vector<std::string>& candidates) {
  return fmt::format("one of: {}", fmt::join(candidates, ", "));
}

std::string help_on(std::string_view word, const std::vector<std::string>& candidates) {
  std::string help = text::did_you_mean(word, candidates);
  return help.empty() ? one_of(candidates) : help;
}

void require_model(const std::string& name) {
  if (target::find(name) != nullptr) return;
  std::vector<std::string> names;
  for (const target::Target& target : target::all()) names.push_back(target.name);
  throw UsageError{fmt::format("unknown target '{}'", name), help_on(name, names)};
}

void require_kernels(const std::string& name) {
  const target::Target* target = target::find(name);
  if (target == nullptr) {
    throw UsageError{fmt::format("unknown target '{}'", name), help_on_target(name)};
  }
  if (!target::has_kernels(target->family)) {
    throw UsageError{
        fmt::format("no kernels are emitted yet for {}: it has a hardware model alone", name),
        one_of(target::names_with_kernels())};
  }
}

std::vector<std::string> parse_targets(const std::string& list) {
  std::vector<std::string> targets;
  for (std::string& name : split(list)) {
    require_kernels(name);
    if (std::find(targets.begin(), targets.end(), name) != targets.end()) {
      throw UsageError{fmt::format("'{}' is in --target twice", name), {}};
    }
    targets.push_back(std::move(name));
  }
  return targets;
}

std::vector<Artefact> parse_artefacts(const std::string& list) {
  const std::vector<std::string> names{"kernel", "header", "manifest"};
  std::vector<Artefact> artefacts;
  for (const std::string& name : split(list)) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      throw UsageError{fmt::format("unknown artefact '{}' in --emit", name), help_on(name, names)};
    }
    artefacts.push_back(static_cast<Artefact>(found - names.begin()));
  }
  return artefacts;
}

text::ErrorFormat parse_error_format(const std::string& name) {
  if (name == "gcc") {
    return text::ErrorFormat::Gcc;
  }
  if (name == "json") {
    return text::ErrorFormat::Json;
  }
  throw UsageError{fmt::format("unknown error format '{}'", name), help_on(name, {"gcc", "json"})};
}

bool parse_report(const std::string& kind) {
  if (!kind.empty() && kind != "html") {
    throw UsageError{fmt::format("unknown report '{}'", kind), help_on(kind, {"html"})};
  }
  return !kind.empty();
}

// The one mode that the flags ask for.
Options::Mode parse_mode(const Raw& raw) {
  using Mode = Options::Mode;
  std::vector<std::pair<Mode, const char*>> asked;
  const auto ask = [&asked](bool given, Mode mode, const char* name) {
    if (given) {
      asked.emplace_back(mode, name);
    }
  };
  ask(raw.schema, Mode::PrintSchema, "--schema");
  ask(raw.list_targets, Mode::ListTargets, "--list-targets");
  ask(!raw.print_target.empty(), Mode::PrintTarget, "--print-target");
  ask(raw.print_outputs, Mode::PrintOutputs, "--print-outputs");
  ask(raw.to_stdout, Mode::Stdout, "--stdout");
  ask(raw.check, Mode::Check, "--check");
  if (asked.size() > 1) {
    throw UsageError{fmt::format("{} and {} exclude each other", asked[0].second, asked[1].second),
                     {}};
  }
  if (!asked.empty()) {
    return asked.front().first;
  }
  return raw.explain && raw.output.empty() ? Mode::Explain : Mode::Write;
}

// What may take the place of a folder that is missing.
const char* help_without_folder(const Raw& raw, Options::Mode mode) {
  const bool needs_folder =
      mode == Options::Mode::Check || !raw.report.empty() || !raw.depfile.empty();
  if (needs_folder) return "add -o DIR";
  return raw.emit.empty() ? "add -o DIR, or --stdout or --explain" : "add -o DIR or --stdout";
}

// What makes a mode one that writes files.
const char* help_to_write(Options::Mode mode) {
  using Mode = Options::Mode;
  if (mode == Mode::Check) return "leave out --check";
  if (mode == Mode::PrintOutputs) return "leave out --print-outputs";
  return mode == Mode::Stdout ? "give -o DIR in the place of --stdout" : "add -o DIR";
}

// What only writing it would find out, when the kernels are written already.
void check_depfile(const std::string& path) {
  if (path.empty()) return;
  const std::string name = std::filesystem::path(path).filename().string();
  std::error_code ignored;
  if (name.empty() || name == "." || name == ".." || name.find('\\') != std::string::npos ||
      std::filesystem::is_directory(path, ignored)) {
    throw UsageError{fmt::format("--depfile '{}' names no file", path),
                     "give the file's own name, as in --depfile kernels.d"};
  }
}

// What needs no spec has a use for no option but its own and that of how errors are printed.
void check_alone(const CLI::App& app, const std::string& own) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && name != own && name != "--error-format") {
      throw UsageError{fmt::format("{} has no effect with {}", name, own), {}};
    }
  }
}

// Refuses options that would have no effect.
void check_combination(const CLI::App& app, const Raw& raw, Options::Mode mode) {
  using Mode = Options::Mode;
  const bool no_spec =
      mode == Mode::PrintSchema || mode == Mode::ListTargets || mode == Mode::PrintTarget;
  if (no_spec) {
    if (!raw.specs.empty()) {
      throw UsageError{fmt::format("'{}': no spec is read with this option", raw.specs[0]), {}};
    }
    check_alone(app, mode == Mode::PrintSchema   ? "--schema"
                     : mode == Mode::ListTargets ? "--list-targets"
                                                 : "--print-target");
    return;
  }
  if (raw.specs.empty()) {
    throw UsageError{"no spec is given", "attngen spec.yaml -o out/"};
  }
  if (std::count(raw.specs.begin(), raw.specs.end(), "-") + (raw.schedule == "-" ? 1 : 0) > 1) {
    throw UsageError{"standard input is given twice", {}};
  }
  if (raw.output.empty() && (mode == Mode::Write || mode == Mode::Check)) {
    throw UsageError{"no output folder is given", help_without_folder(raw, mode)};
  }
  if (!raw.output.empty() && mode == Mode::Stdout) {
    throw UsageError{"--stdout and -o exclude each other", {}};
  }
  if (!raw.depfile.empty() && mode != Mode::Write) {
    throw UsageError{"--depfile is for files that are written", help_to_write(mode)};
  }
  check_depfile(raw.depfile);
  if (!raw.report.empty() && (mode == Mode::Stdout || mode == Mode::Explain)) {
    throw UsageError{"--report is for files that are written", help_to_write(mode)};
  }
  if (raw.explain && mode != Mode::Write && mode != Mode::Explain) {
    throw UsageError{"--explain goes with -o or alone", {}};
  }
  if (!raw.emit.empty() && mode == Mode::Explain) {
    throw UsageError{"--emit is for files that are written", help_to_write(mode)};
  }
}

// Of an unset variable of a script: it would count as not given.
[[noreturn]] void refuse_empty(const std::string& option) {
  throw UsageError{fmt::format("{} is given an empty value", option), {}};
}

void check_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (!option->get_positional() && std::find(values.begin(), values.end(), "") != values.end()) {
      refuse_empty(option->get_name());
    }
  }
}

// The same, spelled "--depfile=", for which CLI11 takes the next word.
void check_words(const CLI::App& app, int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    const std::string name(word.substr(0, word.find('=')));
    const bool is_empty = word.size() == name.size() + 1;
    if (is_empty && word.starts_with("--") && app.get_option_no_throw(name) != nullptr) {
      refuse_empty(name);
    }
  }
}

Options check(const CLI::App& app, const Raw& raw) {
  Options options;
  options.error_format = parse_error_format(raw.error_format);
  options.html_report = parse_report(raw.report);
  options.mode = parse_mode(raw);
  check_combination(app, raw, options.mode);
  if (!raw.print_target.empty()) {
    require_model(raw.print_target);
  }
  if (!raw.target.empty()) {
    options.targets = parse_targets(raw.target);
  }
  const bool to_stdout = options.mode == Options::Mode::Stdout;
  options.artefacts = parse_artefacts(!raw.emit.empty() ? raw.emit
                                      : to_stdout       ? "kernel"
                                                        : "kernel,header,manifest");
  options.specs = raw.specs;
  options.folder = raw.output;
  options.schedule = raw.schedule;
  options.depfile = raw.depfile;
  options.print_target = raw.print_target;
  options.explain = raw.explain;
  return options;
}

// CLI11 knows which word was wrong, but not which was meant.
UsageError explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> extras = app.remaining();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || extras.empty()) {
    return {error.what(), "attngen --help"};
  }
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      known.push_back("--" + name);
    }
  }
  const std::string help = text::did_you_mean(extras[0], known);
  return {fmt::format("unknown option '{}'", extras[0]), help.empty() ? "attngen --help" : help};
}

Parsed usage_error(const std::string& error_format, const UsageError& error) {
  const auto format = error_format == "json" ? text::ErrorFormat::Json : text::ErrorFormat::Gcc;
  return {std::nullopt, ExitCode::Usage, {}, format_error(format, error.message, error.help)};
}

}  // namespace

bool Options::wants(Artefact artefact) const {
  return std::find(artefacts.begin(), artefacts.end(), artefact) != artefacts.end();
}

Parsed parse(int argc, const char* const* argv) {
  Raw raw;
  CLI::App app("Generates attention kernels from a spec.", "attngen");
  declare(app, raw);
  try {
    check_words(app, argc, argv);
    app.parse(argc, argv);
    check_values(app);
    return {check(app, raw), ExitCode::Ok, {}, {}};
  } catch (const CLI::CallForHelp&) {
    return {std::nullopt, ExitCode::Ok, app.help(), {}};
  } catch (const CLI::CallForVersion& version) {
    return {std::nullopt, ExitCode::Ok, fmt::format("{}\n", version.what()), {}};
  } catch (const CLI::ParseError& error) {
    return usage_error(raw.error_format, explain(app, error));
  } catch (const UsageError& error) {
    return usage_error(raw.error_format, error);
  }
}

std::string help_on_target(std::string_view name) {
  if (name == "gfx90a") return "did you mean 'mi250'?";
  if (name == "sm_90" || name == "sm_90a") return "did you mean 'h100'?";
  const std::vector<std::string> names = target::names_with_kernels();
  // Blackwell is near Hopper by its letters alone.
  return name == "b100" || name == "b200" ? one_of(names) : help_on(name, names);
}

std::string format_error(text::ErrorFormat format, const std::string& message,
                         const std::string& help) {
  return text::render_error(format, "attngen", message, help);
}

}  // namespace attngen::cli
