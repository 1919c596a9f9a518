"""A process that checks cases: names in on standard input, one JSON event a line out.

A kernel that hangs or faults takes its process's CUDA context along; supervise.py starts another.
"""

import json
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from gpu.case_check import CaseCheck, Settings  # noqa: E402
from gpu.cases import cases_of  # noqa: E402
from gpu.oracle import OracleLibrary  # noqa: E402


def report(event):
    print(json.dumps(event, default=float), flush=True)


def main():
    settings = Settings(**json.loads(sys.argv[1]))
    index = json.loads((Path(settings.build) / "index.json").read_text())
    library = OracleLibrary(Path(settings.build) / index["oracle"])
    entries = {entry["name"]: entry for entry in index["cases"]}
    cases = {case.name: case for case in cases_of(index)}
    shared = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            check = CaseCheck(cases[name], entries[name], library, settings, shared, report)
            report({"done": check.run()})
        except Exception as error:
            traceback.print_exc()
            report({"broken": f"{type(error).__name__}: {error}"})
            return 1  # after an error the device may not answer any more
    return 0


if __name__ == "__main__":
    sys.exit(main())
