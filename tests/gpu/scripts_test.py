"""What the scripts for a GPU do when something breaks. Needs no GPU.

usage: scripts_test.py
"""

import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from gpu import supervise  # noqa: E402

ENDS_AFTER_ONE = """
import sys
sys.stdin.readline()
print('{"done": {}}', flush=True)
"""


class Supervise(unittest.TestCase):
    def test_every_case_has_a_result_though_workers_end(self):
        with tempfile.TemporaryDirectory() as folder:
            supervise.WORKER = Path(folder) / "worker.py"
            supervise.WORKER.write_text(ENDS_AFTER_ONE)
            results = {}

            def on_result(result):
                results[result["case"]] = len(result["failures"])
                time.sleep(0.2)  # the worker ends meanwhile

            supervise.run_cases([["a", "b", "c"]], "{}", 1, on_result)
        self.assertEqual(results, {"a": 0, "b": 1, "c": 0})


if __name__ == "__main__":
    unittest.main()
