// attngen: from specs to attention kernels. The whole way stands in `generate`.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/exit_code.h"
#include "cli/files.h"
#include "cli/job.h"
#include "cli/options.h"
#include "emit/emit.h"
#include "spec/schema.h"
#include "target/target.h"

namespace attngen::cli {
namespace {

void print_outputs(const std::vector<Job>& jobs, const Options& options, Log& log) {
  for (const Job& job : jobs) {
    for (const std::string& name : job.output_names(options)) {
      log.out += path_in(options.folder, name) + "\n";
    }
  }
}

void print_file(const std::vector<emit::File>& files, const Options& options, Log& log) {
  if (files.size() == 1) {
    log.out += files.front().content;
  } else {
    log.fail(ExitCode::Usage,
             format_error(options.error_format,
                          "--stdout prints one file, but the specs, --target and --emit ask for " +
                              std::to_string(files.size())));
  }
}

void check_folder(const std::vector<emit::File>& files, const Options& options, Log& log) {
  const Differences found = differences(options.folder, files);
  if (!found.lines.empty()) {
    log.out += found.lines;
    log.fail(ExitCode::Spec, {});
  }
  for (const std::string& error : found.errors) {
    log.fail(ExitCode::InputOutput, format_error(options.error_format, error));
  }
}

std::string rules_of(const std::vector<Job>& jobs, const Options& options) {
  std::vector<Rule> rules;
  for (const Job& job : jobs) {
    Rule rule;
    for (const std::string& name : job.output_names(options)) {
      rule.outputs.push_back(path_in(options.folder, name));
    }
    rule.inputs = job.inputs(options);
    rules.push_back(std::move(rule));
  }
  return depfile_text(rules);
}

// Nothing, or the error.
std::optional<std::string> replace_depfile(const std::string& depfile, const std::string& text) {
  const std::filesystem::path path(depfile);
  const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
  // Only -o makes folders.
  std::error_code code;
  if (!std::filesystem::exists(folder, code)) {
    return fmt::format("cannot write '{}': no folder '{}'", depfile, folder);
  }
  return emit::write(folder, {{path.filename().string(), text}});
}

void write_files(const std::vector<Job>& jobs, const std::vector<emit::File>& files,
                 const Options& options, Log& log) {
  // Asked before there are new files, to which a link may lead.
  const bool into = is_written_into(options.depfile);
  std::optional<std::string> error = emit::write(options.folder, files);
  if (!error && !options.depfile.empty()) {
    const std::string rules = rules_of(jobs, options);
    if (!into) {
      error = replace_depfile(options.depfile, rules);
    } else if (leads_to(options.depfile, STDOUT_FILENO)) {
      log.out += rules;
    } else if (leads_to(options.depfile, STDERR_FILENO)) {
      log.err += rules;
    } else {
      error = emit::write_into(options.depfile, rules);
    }
  }
  if (error) {
    log.fail(ExitCode::InputOutput, format_error(options.error_format, *error));
  }
}

// Every spec is checked before the first search, and everything is emitted before the first write:
// an error in any spec leaves the folder as it was.
Log generate(const Options& options) {
  Log log;
  std::vector<Job> jobs;
  for (const std::string& path : options.specs) {
    if (std::optional<Job> job = check(path, options, log)) {
      jobs.push_back(*std::move(job));
    }
  }
  check_names(jobs, options, log);
  if (options.mode == Options::Mode::Write) {
    check_overwrites(jobs, options, log);
  }
  const std::optional<schedule::Schedule> given = read_schedule(options, log);
  if (log.code != ExitCode::Ok) {
    return log;
  }
  if (options.mode == Options::Mode::PrintOutputs) {
    print_outputs(jobs, options, log);
    return log;
  }
  for (Job& job : jobs) {
    choose(job, options, given, log);
  }
  if (log.code != ExitCode::Ok || options.mode == Options::Mode::Explain) {
    return log;
  }
  std::vector<emit::File> files;
  for (const Job& job : jobs) {
    std::vector<emit::File> emitted = emit_wanted(job, options);
    std::move(emitted.begin(), emitted.end(), std::back_inserter(files));
  }
  if (options.mode == Options::Mode::Stdout) {
    print_file(files, options, log);
  } else if (options.mode == Options::Mode::Check) {
    check_folder(files, options, log);
  } else {
    write_files(jobs, files, options, log);
  }
  return log;
}

std::string list_targets() {
  std::string lines;
  for (const target::Target& target : target::all()) {
    const bool has_kernels = target::has_kernels(target.family);
    lines += fmt::format("{:<8}{}{}\n", target.name, target.title,
                         has_kernels ? "" : " (no kernels yet: a hardware model alone)");
  }
  return lines;
}

Log run(const Options& options) {
  switch (options.mode) {
    case Options::Mode::PrintSchema:
      return {spec::json_schema(), {}, ExitCode::Ok};
    case Options::Mode::ListTargets:
      return {list_targets(), {}, ExitCode::Ok};
    case Options::Mode::PrintTarget:
      return {std::string(target::file_text(options.print_target)), {}, ExitCode::Ok};
    default:
      return generate(options);
  }
}

// Prints; a full disk is a failure too.
ExitCode finish(const Log& log) {
  std::fwrite(log.err.data(), 1, log.err.size(), stderr);
  const bool written = std::fwrite(log.out.data(), 1, log.out.size(), stdout) == log.out.size();
  if (std::fflush(stdout) != 0 || !written) {
    std::fputs("attngen: error: cannot write to standard output\n", stderr);
    return ExitCode::InputOutput;
  }
  return log.code;
}

}  // namespace
}  // namespace attngen::cli

int main(int argc, char** argv) {
  using namespace attngen::cli;
  try {
    const Parsed parsed = parse(argc, argv);
    return static_cast<int>(
        finish(parsed.options ? run(*parsed.options) : Log{parsed.out, parsed.err, parsed.code}));
  } catch (const std::exception& defect) {
    std::fprintf(stderr, "attngen: internal error: %s\n", defect.what());
    return static_cast<int>(ExitCode::Internal);
  }
}
