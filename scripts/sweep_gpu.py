#!/usr/bin/env python3
"""Measures many schedules of many kernels, so that the search's choices can be judged.

  scripts/sweep_gpu.py --build     first, where nvcc is: into build-gpu/sweep/
  scripts/sweep_gpu.py             then, where the GPU is: into tests/data/h200_sweep.json
  scripts/sweep_gpu.py --filter d128_causal --json out.json    only these points
  scripts/sweep_gpu.py --filter sigmoid --keep    these anew, the file's others as they are
  scripts/sweep_gpu.py --variants --shapes 8 --build    the cases of bench_variants.py, each in the
  scripts/sweep_gpu.py --variants --rounds 6            first shapes of tiles that the search ranks

The schedules of one point take turns call by call, each after a fast kernel of the same kind, so
that the card's clock meets all alike; medians of event timings, the L2 flushed before each call,
random normal inputs. Every second point of the sweep is marked as held out: constants of the model
are fitted to the others.
"""

import argparse
import datetime
import json
import os
import random
import shlex
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import build_gpu_cases  # noqa: E402
from gpu.sweep import (  # noqa: E402
    VariantPoint, distinct, first_shapes, short_name, sweep_points, variant_points)

NEAR = 1.3  # of the fastest: up to there a schedule is timed in every round


def options():
    parser = argparse.ArgumentParser(description="Measures schedules on a GPU.")
    parser.add_argument("--out", type=Path, default=ROOT / "build-gpu" / "sweep")
    parser.add_argument("--filter", default="", help="only points whose name contains this")
    parser.add_argument("--variants", action="store_true",
                        help="the cases of bench_variants.py in the place of the sweep's points")
    building = parser.add_argument_group("building")
    building.add_argument("--build", action="store_true", help="compile the kernels, time none")
    building.add_argument("--attngen", type=Path, help="default: that of the preset release")
    building.add_argument("--schedules", type=Path, help="attngen_schedules; the same default")
    building.add_argument("--shapes", type=int,
                          help="of each point's ranking only the first shapes of tiles")
    building.add_argument("--target", default="h200")
    building.add_argument("--nvcc", default="nvcc")
    building.add_argument("--jobs", type=int, default=os.cpu_count())
    building.add_argument("--commit", help="of attngen; default: this tree's")
    timing = parser.add_argument_group("timing")
    timing.add_argument("--seconds", type=float, default=300, help="no point begins later")
    timing.add_argument("--point-seconds", type=float, default=2.5,
                        help="rounds begin until then, 40 at most")
    timing.add_argument("--skip", action="append", default=[], metavar="KERNEL",
                        help="one that hangs; may be repeated")
    timing.add_argument("--rounds", type=int, default=6, help="at least")
    timing.add_argument("--keep", action="store_true",
                        help="points of --json that are not measured stay in it")
    timing.add_argument("--json", type=Path, help="default: tests/data/h200_sweep.json, of "
                        "variants sweep_variants.json")
    args = parser.parse_args()
    if args.keep and args.variants:
        parser.error("--keep is for the points of the sweep")
    data = ROOT / "tests" / "data"
    args.json = args.json or (Path("sweep_variants.json") if args.variants
                              else data / "h200_sweep.json")
    return args


def chosen_points(args):
    """(index, point) of those that the filter takes."""
    points = variant_points() if args.variants else sweep_points()
    return [(i, p) for i, p in enumerate(points) if args.filter in p.name]


# Building


def ranked(point, args):
    """The schedules that fit the point's kernel, as the search ranks them for its workload."""
    folder = args.out / "specs" / point.name
    folder.mkdir(parents=True, exist_ok=True)
    spec = folder / "spec.json"
    spec.write_text(json.dumps({**point.sweep.spec, "workload": point.workload()}))
    done = build_gpu_cases.run([args.schedules, spec, args.target])
    if done.returncode:
        raise RuntimeError(f"{point.name}: {done.stdout.strip()}")
    return [json.loads(line)["schedule"] for line in done.stdout.splitlines()]


def build(args):
    """Returns the number of kernels that failed. The index lists what this call built."""
    began = time.monotonic()
    release = ROOT / "build" / "release"
    args.attngen = (args.attngen or build_gpu_cases.find_one(release, "attngen")).resolve()
    args.schedules = (args.schedules or
                      build_gpu_cases.find_one(release, "attngen_schedules")).resolve()
    args.commit = args.commit or build_gpu_cases.commit()
    points = [point for _, point in chosen_points(args)]
    sweeps = {point.sweep.name: point.sweep for point in points}
    rankings = {point.name: ranked(point, args) for point in points}
    choices = {name: ranking[0] for name, ranking in rankings.items()}
    with ThreadPoolExecutor(args.jobs) as pool:
        taken = {name: [] for name in sweeps}
        for point in points:
            ranking = rankings[point.name]
            taken[point.sweep.name] += (first_shapes(ranking, args.shapes) if args.shapes
                                        else ranking)
        cases = [sweeps[name].case(one) for name, some in taken.items() for one in distinct(some)]
        print(f"{len(points)} points, {len(sweeps)} specs, {len(cases)} kernels", flush=True)
        entries = list(pool.map(lambda case: build_gpu_cases.build(case, args), cases))
    kernels = [{**entry, "sweep": case.data} for case, entry in zip(cases, entries)]
    failed = sum("error" in entry for entry in entries)
    index = {"commit": args.commit, "target": args.target,
             "choices": choices, "kernels": kernels}
    (args.out / "index.json").write_text(json.dumps(index, indent=1) + "\n")
    print(f"{len(kernels) - failed} kernels built, {failed} failed, "
          f"{time.monotonic() - began:.0f} s")
    return failed


# Timing


def warm_clock(seconds=1.0):
    import torch

    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(10):
            torch.mm(a, a)
        torch.cuda.synchronize()


def finish(name, seconds=20):
    """Waits for the device. A kernel that hangs takes the process's CUDA context along."""
    import torch

    done = torch.cuda.Event()
    done.record()
    until = time.monotonic() + seconds
    while not done.query():
        if time.monotonic() > until:
            print(f"HANGS {name}: leave it out with --skip {name}", flush=True)
            os._exit(1)
        time.sleep(1e-4)


def agreeing_calls(point, kernels, folder):
    """A call for each kernel, by name, whose output is the first one's up to rounding: a guard
    against timing a wrong kernel; gpu_check.py is the check.
    """
    from bench_gpu import Emitted
    from gpu import rule, tensors

    problem = tensors.draw(point.sweep.case(None, point.name), point.shape(), [], 1, "cuda",
                           on_host=False)
    calls, saves, expected = {}, [], None
    for entry in kernels:
        problem.o.poison()
        call = Emitted(folder, entry, problem)
        saves.append(problem.saves)  # the calls hold addresses, and Emitted draws new ones
        try:
            call()
        except RuntimeError as error:  # the status of a launch
            print(f"FAIL {entry['name']} at {point.name}: {error}")
            continue
        finish(entry["name"])
        got = problem.o.view.double()
        expected = got if expected is None else expected
        # Each rounds its weights and its result once.
        allowed = 4 * rule.ROUNDOFF[point.sweep.spec["dtype"]] * float(expected.abs().max())
        apart = float((got - expected).abs().max())
        if apart <= allowed:
            calls[entry["name"]] = call
        else:
            print(f"WRONG {entry['name']} at {point.name}: {apart:.3e} from the first, above "
                  f"{allowed:.3e}")
    return calls, [problem, *saves]


def take_turns(calls, pace, args, flush):
    """Median milliseconds of each call by name. A card at its power limit slows down by what it did
    in the last tens of milliseconds. So before every timed call `pace`, a fast kernel of the same
    kind, runs for as long: each is timed at the clock of a card that is busy with such kernels.
    The order is drawn anew each round. What is far from the fastest is left out after three rounds.
    """
    import torch

    draw = random.Random(1)
    times = {name: [] for name in calls}
    began, rounds = time.monotonic(), 0
    while rounds < args.rounds or (time.monotonic() - began < args.point_seconds and rounds < 40):
        medians = {name: statistics.median(values) for name, values in times.items() if values}
        best = min(medians.values(), default=0)
        order = [name for name in calls if rounds < 3 or medians[name] <= NEAR * best]
        draw.shuffle(order)
        events = []
        for name in order:
            for _ in range(round(medians[name] / medians[pace]) if medians else 1):
                calls[pace]()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.zero_()
            begin.record()
            calls[name]()
            end.record()
            events.append((name, begin, end))
        torch.cuda.synchronize()
        for name, begin, end in events:
            times[name].append(begin.elapsed_time(end))
        rounds += 1
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def measure(point, choice, kernels, args, flush):
    """Microseconds by the schedule's short name."""
    calls, alive = agreeing_calls(point, kernels, args.out)
    if not calls:
        return {}
    chosen = [entry["name"] for entry in kernels if entry["schedule"] == choice]
    pace = next((name for name in chosen if name in calls), next(iter(calls)))
    medians = take_turns(calls, pace, args, flush)
    del alive  # the calls' memory, until here
    return {short_name(entry["schedule"]): 1e3 * medians[entry["name"]] for entry in kernels
            if entry["name"] in medians}


def point_row(index, point, commit, kernels, times):
    rows = [{"schedule": entry["schedule"], "microseconds": round(times[name], 2)}
            for entry in kernels if (name := short_name(entry["schedule"])) in times]
    held_out = {} if isinstance(point, VariantPoint) else {"holdout": index % 2 == 1}
    return {"spec": point.sweep.spec, "workload": point.workload(), **held_out,
            "commit": commit, "schedules": rows}


def rows_of(sweep):
    """index -> row of a file's points."""
    places = {point.name: i for i, point in enumerate(sweep_points())}
    rows = {}
    for row in sweep["points"]:
        name = f"{row['spec']['name']}_s{row['workload']['seq_q']}"
        rows[places[name]] = {**row, "commit": row.get("commit", sweep.get("commit", ""))}
    return rows


def to_text(head, rows):
    """JSON with one schedule a line, so that versions can be compared."""
    points = []
    for row in rows:
        fields = [f"{json.dumps(key)}: {json.dumps(row[key])}" for key in row
                  if key != "schedules"]
        lines = ",\n".join(json.dumps(one) for one in row["schedules"])
        points.append(f"{{{', '.join(fields)}, \"schedules\": [\n{lines}\n]}}")
    fields = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    return f"{{{', '.join(fields)}, \"points\": [\n" + ",\n".join(points) + "\n]}\n"


def summary_line(point, choice, times):
    """The fastest schedule, and what attngen's own choice loses to it."""
    best = min(times, key=times.get)
    own = times.get(short_name(choice))
    lost = f"{own / times[best]:.3f}" if own else "not measured"
    return f"| {point.name} | {best} | {times[best]:.1f} | {short_name(choice)} | {lost} |"


def command(args):
    """Without paths, which say nothing about the measurement."""
    words = ["scripts/sweep_gpu.py", "--point-seconds", f"{args.point_seconds:g}", "--rounds",
             str(args.rounds)]
    words += ["--variants"] * args.variants + ["--keep"] * args.keep
    words += ["--filter", args.filter] if args.filter else []
    return shlex.join(words)


def time_all(args):
    """Returns 1 if a point was left out, or a kernel."""
    import torch
    from bench_gpu import FLUSH_BYTES

    index = json.loads((args.out / "index.json").read_text())
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    head = {"device": torch.cuda.get_device_name(),
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "command": command(args)}
    rows = {}
    if args.keep:
        kept = json.loads(args.json.read_text())
        rows = rows_of(kept)
        head["command"] = f"{kept['command']}; {head['command']}"
    summary, complete = [], True
    args.json.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    warm_clock()
    for i, point in chosen_points(args):
        kernels = [entry for entry in index["kernels"]
                   if entry["sweep"] == point.sweep.name and "error" not in entry
                   and entry["name"] not in args.skip]
        if not kernels or time.monotonic() - began > args.seconds:
            print(f"LEFT OUT {point.name}: {'out of time' if kernels else 'no kernels'}")
            complete = False
            continue
        times = measure(point, index["choices"][point.name], kernels, args, flush)
        complete &= len(times) == len(kernels)
        if not times:
            continue
        rows[i] = point_row(i, point, index["commit"], kernels, times)
        summary.append(summary_line(point, index["choices"][point.name], times))
        # Each time: a later kernel may hang.
        args.json.write_text(to_text(head, [rows[place] for place in sorted(rows)]))
        print(f"{time.monotonic() - began:5.0f} s {point.name}: {len(times)} schedules, "
              f"{min(times.values()):.1f} to {max(times.values()):.1f} us", flush=True)
    print("\n| point | fastest | us | chosen | its time to the fastest |\n" + "|---" * 5 + "|")
    print("\n".join(summary))
    return 0 if complete else 1


def main():
    args = options()
    args.out = args.out.resolve()
    return (1 if build(args) else 0) if args.build else time_all(args)


if __name__ == "__main__":
    sys.exit(main())
