"""Compiles MI250 kernels with Debian's clang-15, and reads what came out. Needs no card."""

import re
import shutil
import subprocess
from pathlib import Path

BITCODE = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"  # of rocm-device-libs
FLAGS = ["-std=c++17", "-O3", "-fgpu-flush-denormals-to-zero", "-Wall", "-Wextra", "-Werror",
         "-Wno-unused-parameter"]
TOOLS = ["clang++-15", "llvm-objdump-15", "llvm-readelf-15", "ld.lld-15"]


def missing(more=()):
    """What is not installed, in words, or ""."""
    lacking = [tool for tool in (*TOOLS, *more) if not shutil.which(tool)]
    if not Path("/usr/include/hip/hip_runtime.h").exists():
        lacking.append("hip/hip_runtime.h")
    if not Path(BITCODE).is_dir():
        lacking.append(BITCODE)
    return ", ".join(lacking)


def compile_device(source, code_object, extra=()):
    """A bare ELF file of gfx90a code. Raises RuntimeError with what the compiler says."""
    command = ["clang++-15", "-x", "hip", "--offload-arch=gfx90a", "--cuda-device-only",
               "--no-gpu-bundle-output", "--rocm-path=/usr", f"--rocm-device-lib-path={BITCODE}",
               *FLAGS, *extra, "-o", str(code_object), str(source)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{source}:\n{result.stderr}")


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
