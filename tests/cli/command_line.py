"""What the tests of the real executable have in common.

Their usage: <test>.py <attngen> <source folder>
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ATTNGEN = sys.argv.pop(1)
SOURCE = pathlib.Path(sys.argv.pop(1))

SPEC = """\
attngen: 1
name: tiny
pattern: parallel
dtype: bf16
heads: {q: 8, kv: 2}
head_dim: {qk: 128, v: 128}
mask: kv_idx <= q_pos
targets: [h100]
"""
FILES = ["tiny.h", "tiny.json", "tiny_h100.cu"]


class CommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def listing(self, name="out"):
        folder = self.folder / name
        return sorted(os.listdir(folder)) if folder.exists() else None

    def run_raw(self, *words, stdin=b"", environment=None):
        return subprocess.run([ATTNGEN, *words], cwd=self.folder, input=stdin, capture_output=True,
                              timeout=60, env=environment, check=False)

    def check(self, *words, code=0, out="", err="", stdin=b""):
        """Runs, and compares all that the process says."""
        result = self.run_raw(*words, stdin=stdin)
        self.assertEqual((result.returncode, result.stdout.decode(), result.stderr.decode()),
                         (code, out, err))

    def write_schedule(self, **changes):
        """The schedule that a search chose, changed."""
        self.write("tiny.yaml", SPEC)
        self.check("tiny.yaml", "-o", "chosen")
        manifest = json.loads((self.folder / "chosen/tiny.json").read_text())
        self.write("schedule.json", json.dumps({**manifest["targets"][0]["schedule"], **changes}))
