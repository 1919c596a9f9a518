#!/usr/bin/env bash
# compute-sanitizer over small calls of a few kernels: memory, races, barriers. Needs a GPU and the
# folder of scripts/build_gpu_cases.py. The exit status is 0 only if every tool is clean.
#   gpu_sanitize.sh [folder] [tool ...]
set -euo pipefail

case "${1:-}" in
  -h | --help)
    echo "usage: gpu_sanitize.sh [folder [tool ...]]: compute-sanitizer over sanitize_driver in the"
    echo "folder, build-gpu by default; tools: memcheck, racecheck, synccheck (all three by default)"
    exit 0 ;;
esac
driver=${1:-$(dirname "$0")/../build-gpu}/sanitize_driver
shift || true
for program in "$driver" compute-sanitizer; do
  if ! command -v "$program" >/dev/null; then
    echo "gpu_sanitize: not found: $program" >&2
    exit 2
  fi
done
tools=("$@")
[ ${#tools[@]} -gt 0 ] || tools=(memcheck racecheck synccheck)

status=0
for tool in "${tools[@]}"; do
  began=$SECONDS
  if timeout 180 compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 "$driver"; then
    echo "gpu_sanitize: $tool clean in $((SECONDS - began)) s"
  else
    echo "gpu_sanitize: $tool FAILED ($?) in $((SECONDS - began)) s"
    status=1
  fi
done
exit $status
