"""Compiles an MI250 kernel and compares the machine code with the manifest.

With clang-15: no spill, no scratch, no accumulator indexed at run time; registers and LDS as the
schedule said; as many matrix instructions a round of the main loop as its tile has. With hipcc, where
it is installed: host and device, without a warning, linked to libamdhip64; the program starts and the
kernel is refused for want of a device.

usage: check_kernel.py <folder of kernels> <name>_<target>.hip... [--hipcc]
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "hold")]
from manifest import manifest_of  # noqa: E402
from mi250 import loops, toolchain  # noqa: E402

LENGTHS = {"seq_q", "seq_kv", "total_q", "total_kv"}
POINTERS = {"cu_seqlens_q", "cu_seqlens_kv", "block_mask", "block_counts", "block_indices",
            "page_table"}
NO_DEVICE = "the device is not one that the kernel is for, or its driver is too old"
MAIN = """
#include <stdio.h>
#include "{name}.h"
int main(void) {{
  static char memory[64];
  {name}_forward_args args = {{0}};
  args.size = sizeof(args);
  args.batch = {lengths} = 1;
  args.heads_q = {heads_q};
  args.heads_kv = {heads_kv};
  args.q = args.k = args.v = args.o = memory + (16 - (size_t)memory % 16) % 16;
{inputs}  int status = {name}_forward(&args, NULL, NULL);
  printf("%s\\n", {name}_status_string(status));
  return {name}_forward(NULL, NULL, NULL) != {upper}_NULL_POINTER;
}}
"""


def fields(manifest):
    return manifest["passes"][0]["args"]["fields"]


def shape_of(manifest):
    """(heads_q, heads_kv, head_dim.qk, head_dim.v), from the meaning of the argument struct."""
    meaning = {field["name"]: field["meaning"] for field in fields(manifest)}
    dim = [int(meaning[name].rstrip("]").split(",")[-1]) for name in "qv"]
    return (int(meaning["heads_q"].split()[-1]), int(meaning["heads_kv"].split()[-1]), *dim)


def faults(manifest, entry, code_object):
    notes, code = toolchain.notes(code_object), toolchain.listing(code_object)
    resources = entry["resources"]
    for key in ("vgpr_spill_count", "sgpr_spill_count", "private_segment_fixed_size"):
        if notes.get(key, 0):
            yield f"{key} {notes[key]}"
    if notes["group_segment_fixed_size"] != resources["shared_bytes"]:
        yield f"{notes['group_segment_fixed_size']} bytes of LDS, the manifest says " \
              f"{resources['shared_bytes']}"
    if notes["vgpr_count"] > resources["registers"]:
        yield f"{notes['vgpr_count']} registers, {resources['waves_per_simd']} waves a SIMD leave " \
              f"{resources['registers']}"
    if notes["max_flat_workgroup_size"] != resources["threads"]:
        yield f"{notes['max_flat_workgroup_size']} threads, the manifest says {resources['threads']}"
    for _, text, _ in code:
        if text.startswith(("s_set_gpr_idx", "v_movrel", "scratch_")):
            yield f"an accumulator is indexed at run time: {text}"
    yield from faults_of_rounds(manifest, entry, code)


def faults_of_rounds(manifest, entry, code):
    _, _, qk, v = shape_of(manifest)
    tile = entry["schedule"]["tile_kv"]
    expected = tile // 32 * (-(-qk // 16) * 2) + tile // 8 * -(-v // 32)
    try:
        found = loops.counts(loops.rounds(code)[0])["matrix"]
    except loops.NoLoop as problem:
        yield str(problem)
        return
    if found != expected:
        yield f"{found} matrix instructions a round, the tile has {expected}"


def check_host(folder, kernel, manifest, work):
    """Compiles, links and starts the whole; what went wrong, or ""."""
    heads_q, heads_kv, *_ = shape_of(manifest)
    name = manifest["name"]
    names = {field["name"] for field in fields(manifest)}
    lengths = " = ".join(f"args.{length}" for length in sorted(names) if length in LENGTHS)
    inputs = "".join(f"  args.{field['name']} = (const void*)args.q;\n" for field in fields(manifest)
                     if field["c_type"].endswith("*") and (
                         field["meaning"].startswith("input") or field["name"] in POINTERS))
    for field in fields(manifest):
        if field["name"] == "page_size":  # "must be 64"
            inputs += f"  args.page_size = {field['meaning'].split()[-1]};\n"
    (work / "main.c").write_text(MAIN.format(name=name, upper=name.upper(), heads_q=heads_q,
                                             heads_kv=heads_kv, inputs=inputs, lengths=lengths))
    commands = [["gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-I", folder, "-c",
                 work / "main.c", "-o", work / "main.o"],
                ["hipcc", "--offload-arch=gfx90a", *toolchain.FLAGS, "-c", folder / kernel, "-o",
                 work / "kernel.o"],
                ["hipcc", work / "kernel.o", work / "main.o", "-o", work / "program"],
                [work / "program"]]
    for command in commands:
        result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)
        if result.returncode != 0:
            return f"{command[0]}: {result.stdout[:4000]}"
    if result.stdout.strip() not in (NO_DEVICE, "ok"):
        return f"the program says: {result.stdout}"
    return ""


def main():
    words = [word for word in sys.argv[1:] if word != "--hipcc"]
    folder, kernels = Path(words[0]).resolve(), words[1:]
    if lacking := toolchain.missing():
        print(f"skipped: {lacking} not found")
        return
    if "--hipcc" in sys.argv and not shutil.which("hipcc"):
        print("skipped: hipcc not found")
        return
    failed = False
    for kernel in kernels:
        manifest, entry = manifest_of(folder, kernel)
        with tempfile.TemporaryDirectory() as work:
            work = Path(work)
            if "--hipcc" in sys.argv:
                problem = check_host(folder, kernel, manifest, work)
                found = [problem] if problem else []
            else:
                try:
                    toolchain.compile_device(folder / kernel, work / "kernel.co")
                    found = list(faults(manifest, entry, work / "kernel.co"))
                except RuntimeError as error:
                    found = [str(error)]
        failed = failed or bool(found)
        for fault in found or ["good"]:
            print(f"{kernel}: {fault}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
