#!/usr/bin/env bash
# compute-sanitizer over small calls of a few kernels: memory, races, barriers. Needs a GPU and the
# folder of scripts/build_gpu_cases.py. The exit status is 0 only if every tool is clean.
#   gpu_sanitize.sh [folder] [tool ...]
set -euo pipefail
cd "$(dirname "$0")/.."

driver=${1:-build-gpu}/sanitize_driver
shift || true
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
