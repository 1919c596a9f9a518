"""Compiles a kernel for sm_90a and compares what ptxas says with the manifest.

Fails on spills, on warnings, on serialised matrix instructions (C75xx), on R2UR or WARPSYNC in the main loop
of the compiled code (sass.py), and when threads, registers or shared memory are not what the manifest says.

usage: check_kernel.py <nvcc> <folder of kernels> <name>_<target>.cu
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import sass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hold"))
from manifest import manifest_of  # noqa: E402

REGISTERS_PER_CORE = 65536


def compile_kernel(nvcc, kernel, resources):
    """What the compiler prints, and the cubin. Shared memory is dynamic, so that the compiler itself must
    compare. The kernel stands in the unit itself, since nvcc says of no included file what is unused.
    """
    unit = (kernel.read_text() +
            f"static_assert(sizeof(Shared) == {resources['shared_bytes']}, \"shared_bytes\");\n"
            f"static_assert(kThreads == {resources['threads']}, \"threads\");\n"
            f"static_assert(kBlocksPerCore == {resources['blocks_per_core']}, \"blocks_per_core\");\n")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "unit.cu"
        source.write_text(unit)
        result = subprocess.run(
            [nvcc, "-std=c++17", "-O3", "-gencode", "arch=compute_90a,code=sm_90a", "-Werror",
             "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Wno-unused-parameter", "-Xptxas", "-v", "-keep",
             "-keep-dir", folder, "-I", kernel.parent, "-c", source, "-o", pathlib.Path(folder) / "unit.o"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if result.returncode != 0:
            sys.exit(result.stdout)
        (cubin,) = pathlib.Path(folder).glob("*.cubin")
        return result.stdout, cubin.read_bytes()


def launch_registers(resources):
    """What a core's blocks leave to a thread at the launch, before setmaxnreg moves registers."""
    threads = resources["threads"] * resources["blocks_per_core"]
    return min(255, REGISTERS_PER_CORE // threads // 8 * 8)


def faults(log, resources):
    expected = min(launch_registers(resources), resources["consumer_registers"])
    consumers = resources["threads"] // 128 - 1
    planned = 128 * (resources["producer_registers"] + consumers * resources["consumer_registers"])
    planned *= resources["blocks_per_core"]
    if planned > REGISTERS_PER_CORE:
        yield f"the warpgroups claim {planned} registers of {REGISTERS_PER_CORE}"
    for number in re.findall(r"\(C75\d\d\).*", log):
        yield number
    frames = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill", log)
    used = re.findall(r"Used (\d+) registers", log)
    if not frames or not used:
        yield "ptxas reports no kernel"
    for frame in frames:
        if frame != ("0", "0", "0"):
            yield f"{frame[0]} bytes of stack, {frame[1]} of spill stores, {frame[2]} of spill loads"
    for name, kernel in kernels_of(log):
        count = re.search(r"Used (\d+) registers", kernel)[1]
        if name.endswith("_forward_kernel") and int(count) != expected:
            yield f"{count} registers, the launch gives {expected}"
        yield from static_memory(name, kernel)


def kernels_of(log):
    """(name, what ptxas says of it) of each kernel."""
    for part in log.split("Compiling entry function '")[1:]:
        # A mangled name has its words' lengths before them.
        yield re.search(r"\d([a-z]\w*_forward_(?:kernel|prepare|states|join|scan))", part)[1], part


def static_memory(name, kernel):
    """What a kernel has beside the dynamic memory of the manifest; others may."""
    static = re.search(r"(\d+) bytes smem", kernel)
    if static and name.endswith("_forward_kernel"):
        yield f"{static[1]} bytes of static shared memory, the manifest counts the dynamic alone"


def code_faults(reading, source):
    """Keys far behind have a loop of their own where they have sums, and a kernel that makes states; a
    scan has a loop of the state and one of the queries; each layout of biases has a kernel."""
    yield from reading.faults
    loops = 1 + ("_forward_states(" in source) + ("void add_far(" in source)
    loops += 2 * ("_forward_scan(" in source)
    loops *= len(set(re.findall(r"_forward_kernel<BiasLayout::(k\w+)>", source))) or 1
    if reading.loops != loops or reading.products == 0:
        yield f"{reading.loops} main loops with {reading.products} HGMMA: {loops} expected"


def main():
    nvcc, folder, kernel = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    _, entry = manifest_of(folder, kernel)
    resources = entry["resources"]
    log, cubin = compile_kernel(nvcc, (folder / kernel).resolve(), resources)
    reading = sass.read(cubin)
    source = (folder / kernel).read_text()
    found = [*faults(log, resources), *code_faults(reading, source)]
    if found:
        sys.exit("\n".join([log, *(f"{kernel}: {fault}" for fault in found)]))
    print(f"{kernel}: {launch_registers(resources)} registers, no spill, "
          f"{resources['shared_bytes']} bytes of shared memory, {reading.products} HGMMA in the main loop")


if __name__ == "__main__":
    main()
