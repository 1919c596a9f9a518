"""The manifests of a folder."""

import json
import sys


def manifest_of(folder, kernel):
    """The manifest of a file and its entry: names may hold '_', so that all manifests are asked."""
    for path in sorted(folder.glob("*.json")):
        manifest = json.loads(path.read_text())
        for entry in manifest["targets"]:
            if entry["file"] == kernel:
                return manifest, entry
    sys.exit(f"{kernel}: no manifest names it")
