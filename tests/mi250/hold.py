"""One spec held to the oracle: generated, compiled, run in the interpreter."""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mi250 import toolchain

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "hold"))
from generate import generate  # noqa: E402
from random_check import Result, fill_options  # noqa: E402


@dataclass(frozen=True)
class Tools:
    attngen: str
    check: str  # mi250_check


def check_kernel(tools, folder, spec, fills, shapes, seed, more):
    name = spec["name"]
    try:
        toolchain.compile_device(folder / f"{name}_mi250.hip", folder / "kernel.co")
    except RuntimeError as error:
        return Result(problems=str(error))
    metadata = toolchain.notes(folder / "kernel.co")
    if metadata["vgpr_spill_count"]:
        return Result(spilled=metadata["vgpr_spill_count"])
    command = [tools.check, "spec.json", f"{name}.json", "kernel.co", "--seed", str(seed), *more,
               *fill_options(fills)]
    for shape in shapes:
        command += ["--shape", shape]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return Result()
    return Result(problems=f"{result.stdout}{result.stderr}{name}: mi250_check ended with "
                           f"{result.returncode}\n")


def hold(tools, spec, fills, schedule, shapes, seed, more=()):
    """`fills`: for each input, {"fill": a kind of data} or {"value": a number}. `shapes`: as
    mi250_check takes them. `schedule`: None for the search's own. `more`: options of mi250_check.
    """
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        result = generate(tools.attngen, "mi250", spec, schedule, folder)
        if result.returncode != 0:
            return Result(result.returncode, result.stderr)
        return check_kernel(tools, folder, spec, fills, shapes, seed, more)
