#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test; the exit status is 0 only if all passed.
set -euo pipefail
cd "$(dirname "$0")/.."

usage="usage: test.sh: installs what is missing, builds, and runs every test"
case "$*" in
  "") ;;
  -h | --help) echo "$usage"; exit 0 ;;
  *) echo "$usage" >&2; exit 2 ;;
esac

step() {
  printf '\n== %s (%d min %02d s so far)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60))
}

jobs=$(nproc)
run_preset() {  # build and test one preset
  cmake --preset "$1"
  cmake --build --preset "$1" --parallel "$jobs"
  ctest --preset "$1" --parallel "$jobs" </dev/null
}

step "Set-up"
scripts/setup.sh test
step "Release: unit tests, command line, package, lint, compiled kernels"
run_preset release
step "AddressSanitizer and UndefinedBehaviorSanitizer: unit tests, command line, fuzzing"
run_preset sanitize
step "All tests passed"
