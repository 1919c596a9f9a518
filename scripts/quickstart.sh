#!/usr/bin/env bash
# From a fresh clone to the first kernel: installs what is missing, builds, generates into out/.
set -euo pipefail
cd "$(dirname "$0")/.."

usage="usage: quickstart.sh: installs what is missing, builds, and generates a first kernel into out/"
case "$*" in
  "") ;;
  -h | --help) echo "$usage"; exit 0 ;;
  *) echo "$usage" >&2; exit 2 ;;
esac

scripts/setup.sh build
cmake --preset release -DATTNGEN_BUILD_TESTS=OFF -DATTNGEN_WERROR=OFF
cmake --build --preset release

echo "+ build/release/attngen specs/models/llama3_8b.yaml -o out/"
build/release/attngen specs/models/llama3_8b.yaml -o out/
ls -l out/
