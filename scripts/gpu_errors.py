#!/usr/bin/env python3
"""Tables of the errors that scripts/gpu_check.py found: the worst ratio of an error to what the rule
allows, by outputs.

  scripts/gpu_errors.py build-gpu/gpu_check.json
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gpu.cases import cases_of  # noqa: E402

COLUMNS = {"largest": "o", "mean": "o in the mean", "whole": "o, whole tensor",
           "apart": "o, across schedules"}
TITLES = {"base": "plain softmax", "packed": "few queries, heads packed",
          "split": "few queries, keys split", "agree": "schedules",
          "random": "random specs", "variant": "scores, masks, normalisers, wide heads",
          "sanitize": "those of the sanitizers", "file": "specs/variants",
          "far": "keys far behind as states", "maps": "two maps", "sparse": "block sparsity",
          "varlen": "packed sequences", "asked": "masks of a byte a pair, asked beforehand"}


def ratio(results, output):
    found = [r["worst"][output]["ratio"] for r in results if output in r["worst"]]
    return f"{max(found):.2f}" if found else ""


def saved(results):
    outputs = {name for r in results for name in r["worst"] if name not in COLUMNS.values()}
    return ", ".join(f"{name} {ratio(results, name)}" for name in sorted(outputs))


def cells(results):
    return {"calls": sum(r["calls"] for r in results),
            "rows": f"{sum(r['rows'] for r in results):,}",
            **{column: ratio(results, output) for column, output in COLUMNS.items()}}


def table(rows):
    """Of rows as dicts, without the columns that none has anything in."""
    if not rows:  # of a group that was not checked
        return
    columns = [name for name in rows[0] if any(one[name] != "" for one in rows)]
    print("| " + " | ".join(columns) + " |", "|" + "---|" * len(columns), sep="\n")
    for one in rows:
        print("| " + " | ".join(str(one[name]) for name in columns) + " |")
    print()


def dims(spec):
    qk, v = spec["head_dim"]["qk"], spec["head_dim"]["v"]
    return f"{qk}" if qk == v else f"{qk}, values of {v}"


def by(results, key):
    groups = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    return groups


def kind_of(case):
    """Of variants the part of the name that says what they have in common."""
    first = case.name.split("_")[0]
    return first if case.group == "variant" and first in TITLES else case.group


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("json", type=Path, help="what scripts/gpu_check.py wrote")
    check = json.loads(parser.parse_args().json.read_text())
    cases = {case.name: case for case in cases_of(check)}
    results = [r for r in check["cases"] if r["case"] in cases]
    unknown = [r["case"] for r in check["cases"] if r["case"] not in cases]
    print(f"{check['device']}, {check['date'][:10]}, {check['commit'][:7]}, seed {check['seed']}\n")

    def spec(result):
        return cases[result["case"]].spec

    plain = [r for r in results if cases[r["case"]].group == "base"]
    for key, name in ((lambda r: dims(spec(r)), "head dim"), (lambda r: spec(r)["dtype"], "type"),
                      (lambda r: cases[r["case"]].mask, "mask")):
        ordered = sorted(plain, key=lambda r: spec(r)["head_dim"]["qk"])
        table([{name: value, "kernels": len(some), **cells(some)}
               for value, some in by(ordered, key).items()])
    kinds = by(results, lambda r: kind_of(cases[r["case"]]))
    table([{"of": TITLES[kind], "kernels": len(some), **cells(some)}
           for kind, some in kinds.items()])
    for kind in ("variant", "file"):
        table([{"kernel": r["case"].removeprefix("file_"),
                "head dim, type": f"{dims(spec(r))}, {spec(r)['dtype']}", **cells([r]),
                "saved": saved([r])} for r in kinds.get(kind, [])])
    if unknown:
        print(f"left out, for no such case is known: {' '.join(unknown)}", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
