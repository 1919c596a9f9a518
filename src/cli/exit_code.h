// What the process says to the shell; part of the command line's contract (README.md).
#pragma once

namespace attngen::cli {

enum class ExitCode : int {
  Ok = 0,
  Spec = 1,   // a spec is wrong, or --check found a difference
  Usage = 2,  // the command line is wrong
  NoSchedule = 3,
  InputOutput = 4,
  Internal = 70,  // a defect of attngen itself
};

}  // namespace attngen::cli
