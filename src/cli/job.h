// One spec on its way to files. Each step of the way is a function; a step that fails leaves its
// errors in the log and the job goes no further.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/row_form.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "emit/emit.h"
#include "schedule/schedule.h"
#include "spec/spec.h"
#include "target/target.h"

namespace attngen::cli {

// What the process will say, gathered so that nothing is written before everything is known.
struct Log {
  std::string out, err;
  ExitCode code = ExitCode::Ok;  // the gravest so far

  void fail(ExitCode failure, const std::string& text);
};

inline constexpr const char* kStandardInput = "<stdin>";

struct Job {
  std::string path;  // as errors print it
  spec::Spec spec;
  std::vector<const target::Target*> targets;
  attention::RowForm rows;
  std::vector<emit::Choice> choices;  // one for each target, once chosen
  std::vector<emit::File> pages;      // of --report html, likewise

  // The names of the files wanted, without a search.
  std::vector<std::string> output_names(const Options& options) const;
  // The files that it is made from; standard input is none.
  std::vector<std::string> inputs(const Options& options) const;
};

// Reads the spec and proves that it can be emitted, short of finding a schedule.
std::optional<Job> check(const std::string& path, const Options& options, Log& log);

// Refuses jobs that would write the same file.
void check_names(const std::vector<Job>& jobs, const Options& options, Log& log);

// Refuses to write over what is read, and the depfile over what is written.
void check_overwrites(const std::vector<Job>& jobs, const Options& options, Log& log);

// The schedule of --schedule, if one is given.
std::optional<schedule::Schedule> read_schedule(const Options& options, Log& log);

// Chooses the fastest schedule for each target, or `given`. Reports on the rankings as --explain
// and --report ask.
void choose(Job& job, const Options& options, const std::optional<schedule::Schedule>& given,
            Log& log);

// The files of the job that --emit wants, and its pages.
std::vector<emit::File> emit_wanted(const Job& job, const Options& options);

}  // namespace attngen::cli
