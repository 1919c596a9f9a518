#!/usr/bin/env bash
# Installs from Debian's packages what is missing of
#   setup.sh build   what building attngen needs
#   setup.sh test    and what the tests need
# CUDA is not among it: without nvcc on the PATH, the tests that compile kernels for it are skipped.
set -euo pipefail

packages=(cmake ninja-build g++ libcli11-dev libfmt-dev nlohmann-json3-dev libyaml-cpp-dev)
usage="usage: setup.sh build|test: installs what building attngen needs, or the tests as well"
case "$*" in
  build) ;;
  test)
    packages+=(doctest-dev python3 python3-jsonschema python3-numpy python3-yaml
               clang clang-format clang-tidy libclang-rt-dev make locales
               clang-15 lld-15 llvm-15 hipcc)  # the last four: kernels for MI250
    ;;
  -h | --help) echo "$usage"; exit 0 ;;
  *) echo "$usage" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: missing: ${missing[*]}; install them as root" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" apt-get -q update </dev/null
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get -q install --yes --no-install-recommends "${missing[@]}" </dev/null
