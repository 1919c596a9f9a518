#include "cli/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "attention/listed.h"
#include "cli/files.h"
#include "report/explain.h"
#include "report/html.h"
#include "schedule/read.h"
#include "schedule/search.h"
#include "spec/read.h"
#include "text/bytes.h"
#include "text/characters.h"
#include "text/diagnostics.h"

namespace attngen::cli {
namespace {

// As errors print a path.
std::string shown_name(const std::string& path) { return path == "-" ? kStandardInput : path; }

// The targets of the command line, which are checked, or else those of the spec.
std::vector<const target::Target*> targets_of(const spec::Spec& spec, const Options& options,
                                              text::Diagnostics& diagnostics) {
  std::vector<const target::Target*> targets;
  if (!options.targets.empty()) {
    for (const std::string& name : options.targets) {
      targets.push_back(target::find(name));
    }
    return targets;
  }
  for (size_t i = 0; i < spec.targets.size(); ++i) {
    const target::Target* target = target::find(spec.targets[i]);
    if (target == nullptr) {
      diagnostics.add(spec.locations.at(diagnostics.source(), fmt::format("/targets/{}", i),
                                        fmt::format("unknown target '{}'", spec.targets[i]),
                                        help_on_target(spec.targets[i])));
    } else if (std::find(targets.begin(), targets.end(), target) == targets.end()) {
      targets.push_back(target);
    }
  }
  return targets;
}

// Everything that can be wrong with a spec that was read.
void check_spec(Job& job, const Options& options, text::Diagnostics& diagnostics) {
  job.targets = targets_of(job.spec, options, diagnostics);
  bool supported = true;
  for (const target::Target* target : job.targets) {
    supported = emit::check_supported(job.spec, *target, diagnostics) && supported;
  }
  if (!supported) {
    return;  // a pattern without a row form among them
  }
  auto derived = attention::derive_row_form(job.spec.normalize);
  if (const auto* refusal = std::get_if<attention::Refusal>(&derived)) {
    diagnostics.add(job.spec.locations.inside(diagnostics.source(), refusal->pointer,
                                              refusal->error.span, refusal->error.message,
                                              refusal->error.help));
    return;
  }
  job.rows = std::get<attention::RowForm>(std::move(derived));
}

// "a.yaml: no schedule of 'a' is feasible for h100", with the first schedule and why not that one;
// if one is given, no other was tried.
std::string infeasible(const Job& job, const target::Target& target,
                       const std::vector<schedule::Rejection>& rejected, const Options& options) {
  const bool given = !options.schedule.empty();
  std::string message =
      given ? fmt::format("{}: the schedule of {} does not fit '{}' on {}", job.path,
                          shown_name(options.schedule), job.spec.name, target.name)
            : fmt::format("{}: no schedule of '{}' is feasible for {}", job.path, job.spec.name,
                          target.name);
  if (!rejected.empty()) {
    message += fmt::format(": {}: {}", schedule::describe(rejected.front().schedule),
                           rejected.front().reason);
  }
  return format_error(options.error_format, message,
                      given ? "without --schedule, one that fits is searched for"
                            : "--explain lists every schedule and why");
}

}  // namespace

void Log::fail(ExitCode failure, const std::string& text) {
  err += text;
  code = std::max(code, failure);
}

std::vector<std::string> Job::output_names(const Options& options) const {
  std::vector<std::string> names;
  for (std::string& name : emit::output_names(spec, targets)) {
    if (options.wants(artefact_of(name))) {
      names.push_back(std::move(name));
    }
  }
  if (options.html_report) {
    for (const target::Target* target : targets) {
      names.push_back(report::html_name(spec, *target));
    }
  }
  return names;
}

std::vector<std::string> Job::inputs(const Options& options) const {
  std::vector<std::string> files{path, options.schedule};
  std::erase_if(files, [](const std::string& file) {
    return file.empty() || file == kStandardInput || file == "-";
  });
  return files;
}

std::optional<Job> check(const std::string& path, const Options& options, Log& log) {
  ReadText read = read_text(path, text::kMaxBytes);
  if (!read.error.empty()) {
    log.fail(ExitCode::InputOutput, format_error(options.error_format, read.error));
    return std::nullopt;
  }
  text::Diagnostics diagnostics({shown_name(path), std::move(read.content)});
  std::optional<spec::Spec> spec = spec::read(diagnostics);
  Job job;
  if (spec) {
    job.path = shown_name(path);
    job.spec = *std::move(spec);
    check_spec(job, options, diagnostics);
  }
  // Who asks for the paths alone will run again for the files, and hear of warnings then.
  if (diagnostics.has_errors() || options.mode != Options::Mode::PrintOutputs) {
    log.err += diagnostics.render(options.error_format);
  }
  if (diagnostics.has_errors() || job.path.empty()) {
    log.fail(ExitCode::Spec, {});
    return std::nullopt;
  }
  return job;
}

void check_names(const std::vector<Job>& jobs, const Options& options, Log& log) {
  struct Writer {
    const Job* job;
    std::string name;
  };
  // By what file systems that ignore case make of the name; the enumerators are in capitals anyway.
  std::map<std::string, Writer> writers;
  for (const Job& job : jobs) {
    for (const std::string& name : job.output_names(options)) {
      const auto [found, is_new] = writers.emplace(text::lower(name), Writer{&job, name});
      if (!is_new) {
        const Writer& other = found->second;
        const std::string both =
            other.name == name
                ? fmt::format("both write {}", name)
                : fmt::format("write {} and {}, which differ in case alone", other.name, name);
        log.fail(ExitCode::Spec,
                 format_error(options.error_format,
                              fmt::format("{} and {} would {}", other.job->path, job.path, both),
                              "give each spec its own name"));
        break;  // one line for a pair of specs
      }
    }
  }
}

void check_overwrites(const std::vector<Job>& jobs, const Options& options, Log& log) {
  std::set<FileId> files;
  std::set<std::string> paths;
  for (const Job& job : jobs) {
    for (const std::string& name : job.output_names(options)) {
      const std::string path = path_in(options.folder, name);
      paths.insert(full_path(path));
      if (const auto file = file_id(path)) files.insert(*file);
    }
  }
  const auto refuse = [&](const std::string& path, const char* help) {
    log.fail(ExitCode::Usage, format_error(options.error_format,
                                           fmt::format("'{}' would be overwritten", path), help));
  };
  constexpr const char* kOtherDepfile = "give --depfile a path of its own";
  const std::optional<FileId> depfile = file_id(options.depfile);
  for (const Job& job : jobs) {
    for (const std::string& input : job.inputs(options)) {
      const std::optional<FileId> file = file_id(input);
      if (!file) continue;
      if (files.contains(*file)) return refuse(input, "give -o another folder");
      if (file == depfile) return refuse(input, kOtherDepfile);
    }
  }
  if (options.depfile.empty()) return;
  if ((depfile && files.contains(*depfile)) || paths.contains(full_path(options.depfile))) {
    refuse(options.depfile, kOtherDepfile);
  }
}

std::optional<schedule::Schedule> read_schedule(const Options& options, Log& log) {
  if (options.schedule.empty()) {
    return std::nullopt;
  }
  ReadText read = read_text(options.schedule, text::kMaxBytes);
  if (!read.error.empty()) {
    log.fail(ExitCode::InputOutput, format_error(options.error_format, read.error));
    return std::nullopt;
  }
  text::Diagnostics diagnostics({shown_name(options.schedule), std::move(read.content)});
  std::optional<schedule::Schedule> schedule = schedule::read(diagnostics);
  if (!schedule) {
    log.fail(ExitCode::Spec, diagnostics.render(options.error_format));
  }
  return schedule;
}

namespace {

// Schedules of a spec, as it is or with its lists as a mask.
struct Ranked {
  spec::Spec spec;
  schedule::Ranking ranking;
};

Ranked judged(const Job& job, const schedule::Schedule& given, const target::Target& target) {
  const bool as_mask = given.lists_as_mask && attention::may_be_mask(job.spec);
  Ranked ranked{as_mask ? attention::lists_as_mask(job.spec) : job.spec, {}};
  ranked.ranking.of_given = true;
  const schedule::Kernel kernel = schedule::describe_kernel(ranked.spec, job.rows, target.family);
  schedule::Judged judged = schedule::judge(kernel, given, target);
  if (judged.candidate) {
    ranked.ranking.ranked.push_back(*judged.candidate);
  } else {
    ranked.ranking.rejected.push_back({judged.schedule, std::move(judged.reason)});
  }
  return ranked;
}

Ranked searched_as(spec::Spec spec, const Job& job, const target::Target& target) {
  const schedule::Kernel kernel = schedule::describe_kernel(spec, job.rows, target.family);
  return {std::move(spec), schedule::search(kernel, target)};
}

// Both ways, where there are two; the faster.
Ranked searched(const Job& job, const target::Target& target) {
  Ranked first = searched_as(job.spec, job, target);
  if (!attention::may_be_mask(job.spec)) return first;
  Ranked second = searched_as(attention::lists_as_mask(job.spec), job, target);
  if (second.ranking.ranked.empty()) return first;
  const auto time = [](const Ranked& way) { return way.ranking.ranked.front().cost.seconds; };
  if (first.ranking.ranked.empty() || time(second) < time(first)) std::swap(first, second);
  if (!second.ranking.ranked.empty()) first.ranking.other_way = second.ranking.ranked.front();
  return first;
}

}  // namespace

void choose(Job& job, const Options& options, const std::optional<schedule::Schedule>& given,
            Log& log) {
  for (const target::Target* target : job.targets) {
    const auto [spec, ranking] = given ? judged(job, *given, *target) : searched(job, *target);
    if (options.explain) {
      log.out += report::explain(spec, *target, ranking);
    }
    if (ranking.ranked.empty()) {
      log.fail(ExitCode::NoSchedule, infeasible(job, *target, ranking.rejected, options));
    } else {
      if (options.html_report) {
        job.pages.push_back(
            {report::html_name(job.spec, *target), report::html(spec, *target, ranking)});
      }
      job.choices.push_back({target, ranking.ranked.front(), given.has_value()});
    }
  }
}

std::vector<emit::File> emit_wanted(const Job& job, const Options& options) {
  std::vector<emit::File> files = emit::emit(job.spec, job.rows, job.choices);
  std::erase_if(
      files, [&options](const emit::File& file) { return !options.wants(artefact_of(file.name)); });
  files.insert(files.end(), job.pages.begin(), job.pages.end());
  return files;
}

}  // namespace attngen::cli
