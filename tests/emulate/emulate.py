#!/usr/bin/env python3
"""Emits kernels, runs them on the emulator (emulator.h) and holds them to the oracle.

Head dims and head counts are small, since a core is emulated thread by thread. Schedules are given,
so that each way through the template's loops is taken, whatever the search would choose.

usage: emulate.py <attngen> <check> <c++> <folder> <group>
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "hold")]
from function_groups import FUNCTION_GROUPS  # noqa: E402
from generate import generate  # noqa: E402
from key_groups import KEY_GROUPS, RANKS, SECTIONS, SHARES  # noqa: E402
from specs import CAUSAL, schedule, spec  # noqa: E402
from to_host import library_command, to_host  # noqa: E402

GROUPS = {**FUNCTION_GROUPS, **KEY_GROUPS}
# What the check must find in a kernel: a line, what makes it a little wrong.
WRONG = {
    "one key less": ("keys.end - kv_first};", "keys.end - kv_first - 1};"),
    "the scale": ("kScale = 0.125f;", "kScale = 0.125125f;"),
    "what is saved": ("return values.m + __logf(values.l);", "return values.m + __logf(values.l) + 1e-4f;"),
    "outputs": ("return acc * values.output_scale;", "return acc * values.output_scale * 1.004f;"),
}


def run(command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(str(c) for c in command)}\n{done.stdout}")
    return done.stdout


def emulated(attngen, one, given, place):
    """Emits the kernel and makes a C++ source of it."""
    place.mkdir(parents=True, exist_ok=True)
    generated = generate(Path(attngen).resolve(), "h100", one, given, place)
    if generated.returncode:
        sys.exit(f"{json.dumps(one)}\n{generated.stderr}")
    host = place / "emulated.cpp"
    host.write_text(to_host((place / "emulated_h100.cu").read_text()))
    return host


def check_order(attngen, compiler, folder, kernels, source):
    for i, (one, given, *defined) in enumerate(kernels):
        host = emulated(attngen, one, given, folder / str(i))
        program = folder / str(i) / "order"
        command = library_command(compiler, one["dtype"], folder.parent)
        run([*command, f'-DEMITTED="{host}"', *defined, HERE / source, "-o", program])
        print(json.dumps(one), run([program]), sep="\n")


def check_outputs(attngen, check, compiler, folder, group):
    for i, (one, schedules, calls, *fills) in enumerate(GROUPS[group]):
        options = [text for fill in fills for text in ("--fill", fill)]
        if group in ("dense", "split", "varlen_split"):
            options.append("--replay")
        for j, given in enumerate(schedules):
            place = folder / f"{i}_{j}"
            host = emulated(attngen, one, given, place)
            if group in ("far", "far_weights", "key_sums", "varlen_far") and "_forward_states(" not in host.read_text():
                sys.exit(f"{json.dumps(one)}\na kernel without states")
            if group == "scan" and "_forward_scan(" not in host.read_text():
                sys.exit(f"{json.dumps(one)}\na kernel without a scan")
            if group in ("split", "varlen_split") and "kJoining = 0;" not in host.read_text().replace(",", ";"):
                sys.exit(f"{json.dumps(one)}\na kernel whose short calls are not split")
            library = place / "emulated.so"
            run([*library_command(compiler, one["dtype"], folder.parent), "-shared", host, "-o", library])
            print(json.dumps(one), json.dumps(given), sep="\n")
            print(run([check, place / "spec.json", place / "emulated.json", library, *calls,
                       *options]), flush=True)


def check_wrong(attngen, check, compiler, folder):
    # In fp16, whose roundings hide less.
    host = emulated(attngen, spec((1, 1), dtype="fp16", mask=CAUSAL), schedule(2, 64, 2), folder)
    right, library = host.read_text(), folder / "emulated.so"
    command = [check, folder / "spec.json", folder / "emulated.json", library, "1,70,130"]
    for name, (line, wrong) in {"nothing": ("", ""), **WRONG}.items():
        if line and right.count(line) != 1:
            sys.exit(f"{right.count(line)} of {line}")
        host.write_text(right.replace(line, wrong) if line else right)
        run([*library_command(compiler, "fp16", folder.parent), "-shared", host, "-o", library])
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        print(f"{name} is wrong: {done.returncode}, {done.stdout}", end="", flush=True)
        if done.returncode != (1 if line else 0):
            sys.exit(done.stderr or 1)


def main():
    attngen, check, compiler, folder, group = sys.argv[1:]
    folder = Path(folder) / group
    if group == "sections":
        check_order(attngen, compiler, folder, SECTIONS, "sections.cpp")
    elif group == "ranks":
        check_order(attngen, compiler, folder, RANKS, "ranks.cpp")
    elif group == "shares":
        check_order(attngen, compiler, folder, SHARES, "shares.cpp")
    elif group == "wrong":
        check_wrong(attngen, check, compiler, folder)
    else:
        check_outputs(attngen, check, compiler, folder, group)


if __name__ == "__main__":
    main()
