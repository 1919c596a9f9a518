"""attngen on a spec that a test has made."""

import json
import subprocess


def generate(attngen, target, spec, schedule, folder):
    """Into `folder`, of spec.json there; `schedule`: None for the search's own. What attngen said."""
    (folder / "spec.json").write_text(json.dumps(spec))
    command = [attngen, "spec.json", "--target", target, "-o", "."]
    if schedule:
        (folder / "schedule.json").write_text(json.dumps(schedule))
        command += ["--schedule", "schedule.json"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
