#!/usr/bin/env bash
# From a fresh clone to the first kernel: installs what is missing, builds, generates into out/.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build
cmake --preset release -DATTNGEN_BUILD_TESTS=OFF -DATTNGEN_WERROR=OFF
cmake --build --preset release

echo "+ build/release/attngen specs/models/llama3_8b.yaml -o out/"
build/release/attngen specs/models/llama3_8b.yaml -o out/
ls -l out/
