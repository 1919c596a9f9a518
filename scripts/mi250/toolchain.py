"""Compiles MI250 kernels with Debian's clang-15, and reads what came out. Needs no card."""

import functools
import os
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

BITCODE = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"  # of rocm-device-libs
FLAGS = ["-std=c++17", "-O3", "-fgpu-flush-denormals-to-zero", "-Wall", "-Wextra", "-Werror",
         "-Wno-unused-parameter"]
ONE_AT_A_TIME = threading.Lock()
TOOLS = ["clang++-15", "llvm-objdump-15", "llvm-readelf-15", "ld.lld-15"]


def missing(more=()):
    """What is not installed, in words, or ""."""
    lacking = [tool for tool in (*TOOLS, *more) if not shutil.which(tool)]
    if not Path("/usr/include/hip/hip_runtime.h").exists():
        lacking.append("hip/hip_runtime.h")
    if not Path(BITCODE).is_dir():
        lacking.append(BITCODE)
    return ", ".join(lacking)


DEVICE = ["clang++-15", "-x", "hip", "--offload-arch=gfx90a", "--cuda-device-only",
          "--rocm-path=/usr", f"--rocm-device-lib-path={BITCODE}", *FLAGS]
HEADERS = ["hip/hip_runtime.h", "stddef.h", "stdint.h", "string.h"]  # what kernels include


def run_compiler(command, what, folder):
    """With temporary files in `folder`: clang leaves an empty folder behind for each kernel."""
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                            env={**os.environ, "TMPDIR": str(folder)})
    if result.returncode != 0:
        raise RuntimeError(f"{what}:\n{result.stderr}")


@functools.cache
def make_headers():
    """A folder with headers.pch. Reading the headers takes longer than compiling a kernel does; the
    code that comes out is the same to the byte."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name)
    (path / "headers.h").write_text("".join(f"#include <{header}>\n" for header in HEADERS))
    clang = ["-emit-pch", "-o", path / "headers.pch"]
    run_compiler([*DEVICE, "-fsyntax-only", *(word for one in clang for word in ("-Xclang", one)),
                  path / "headers.h"], "headers.h", path)
    return folder


def precompiled_headers():
    """The same folder for all threads: a second one would take its place, and the first be gone."""
    with ONE_AT_A_TIME:
        return make_headers()


def compile_device(source, code_object, more=()):
    """A bare ELF file of gfx90a code. Raises RuntimeError with what the compiler says."""
    folder = Path(precompiled_headers().name)
    run_compiler([*DEVICE, "--no-gpu-bundle-output", "-Xclang", "-include-pch", "-Xclang",
                  folder / "headers.pch", *more, "-o", code_object, source], source, folder)


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def notes(code_object):
    """The kernel's metadata: registers, spills, scratch, LDS."""
    text = output_of("llvm-readelf-15", "--notes", str(code_object))
    return {key: int(value) for key, value in re.findall(r"\.(\w+):\s+(\d+)\n", text)}


def listing(code_object):
    """(address, instruction, target address of a branch or None) of all code, in order."""
    text = output_of("llvm-objdump-15", "-d", "--mcpu=gfx90a", str(code_object))
    code = []
    for line in text.splitlines():
        found = re.match(r"\s+(\S.*?)\s*// ([0-9A-F]{12}):", line)
        if not found:
            continue
        address, instruction = int(found[2], 16), found[1]
        target = None
        if branch := re.match(r"s_c?branch\S*\s+(\d+)", instruction):
            offset = int(branch[1])
            target = address + 4 + 4 * (offset - 65536 if offset >= 32768 else offset)
        code.append((address, instruction, target))
    return code
