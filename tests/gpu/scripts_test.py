"""What the scripts for a GPU do when something breaks. Needs no GPU.

usage: scripts_test.py
"""

import json
import re
import subprocess
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import build_gpu_cases  # noqa: E402
from gpu import case as case_module  # noqa: E402
from gpu import cases, own_specs, supervise  # noqa: E402

try:
    import numpy as np
    from gpu import rule
except ModuleNotFoundError:  # the GPU's machine has it
    rule = None

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


class Rule(unittest.TestCase):
    def test_it_is_that_of_the_emulator(self):
        root = Path(__file__).resolve().parents[2]
        emulator = "".join((root / "tests/hold" / f).read_text() for f in ("rule.h", "rule.cpp"))
        script = (root / "scripts/gpu/rule.py").read_text()

        def value(word, text):
            number = re.search(rf"\b{word} = ([^;\n]+)", text).group(1)
            return float.fromhex(number) if number.startswith("0x") else eval(number)

        for name, constant in {"kRoundings": "ROUNDINGS", "kSaveRoundoff": "SAVE_ROUNDOFF",
                               "kSaveShare": "SAVE_SHARE", "kUnderflow": "UNDERFLOW"}.items():
            self.assertEqual(value(name, emulator), value(constant, script))

    @unittest.skipIf(rule is None, "no numpy")
    def test_saves_of_rounded_scores_are_none_of_fp32(self):
        scores = np.random.default_rng(1).normal(size=(64, 20))
        rounded = np.round(scores * 2**8) / 2**8
        lse, naive = (np.log(np.exp(s).sum(axis=1)) for s in (scores, rounded))
        for dtype in ("bf16", "fp16"):
            spec = {"dtype": dtype, "score": "score / 2"}
            self.assertFalse(rule.hold_save("lse", naive, lse, naive, spec).ok)
            self.assertTrue(rule.hold_save("lse", lse.astype(np.float32), lse, naive, spec).ok)
        cap = {"dtype": "bf16", "score": "30 * tanh(score / 30)"}
        self.assertTrue(rule.hold_save("lse", naive, lse, naive, cap).ok)

    @unittest.skipIf(rule is None, "no numpy")
    def test_small_scores_of_a_soft_cap_err_as_their_cap_does(self):
        lse = np.array([[-0.01], [0.03]])
        for cap, ok in (("2", False), ("40", True), ("wide", True)):
            spec = {"dtype": "fp16", "score": f"{cap} * tanh(score / {cap})",
                    "constants": {"wide": 40}}
            self.assertEqual(rule.hold_save("lse", lse + 9e-6, lse, lse, spec).ok, ok)


class Help(unittest.TestCase):
    def test_no_script_needs_packages_for_it(self):
        scripts = sorted(SCRIPTS.glob("*.py"))
        self.assertTrue(scripts)
        for script in scripts:
            with self.subTest(script.name):
                run = subprocess.run([sys.executable, script, "--help"], capture_output=True,
                                     text=True, check=False)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                self.assertIn(script.name, run.stdout)


class Groups(unittest.TestCase):
    def test_the_options_know_all(self):
        self.assertEqual({case.group for case in cases.all_cases()}, set(cases.GROUPS))


class OwnSpecs(unittest.TestCase):
    SPEC = {"attngen": 1, "name": "mine", "dtype": "bf16", "heads": {"q": 2, "kv": 1},
            "head_dim": {"qk": 64, "v": 64}, "scale": "default", "mask": "kv_idx <= q_pos + ahead",
            "inputs": {"ahead": {"dtype": "i32", "shape": []},
                       "doc": {"dtype": "i32", "shape": ["batch", "seq_kv"], "sorted": True},
                       "warmth": {"dtype": "f32", "shape": ["heads"]}}}

    def test_inputs_are_guessed_but_for_those_that_are_given(self):
        case = own_specs.case_of(self.SPEC, dict([own_specs.fill_of("ahead=7")]))
        self.assertEqual(case.fills, {"ahead": {"value": 7}, "doc": {"fill": "documents"},
                                      "warmth": {"fill": "slopes"}})
        self.assertNotIn("scale", case.spec)
        self.assertEqual(own_specs.fill_of("doc=stretches"), ("doc", {"fill": "stretches"}))
        for wrong in ("ahead=", "ahead"):
            with self.assertRaises(ValueError):
                own_specs.fill_of(wrong)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mine.json"
            path.write_text(json.dumps(self.SPEC))
            with self.assertRaisesRegex(ValueError, "--fill behind: no spec has such an input"):
                own_specs.read_cases([path], [own_specs.fill_of("behind=1")])

    def test_the_index_has_all_of_them(self):
        own = [own_specs.case_of(self.SPEC, {})]
        index = json.loads(json.dumps({"draw": "", "specs": own_specs.to_index(own)}))
        self.assertEqual(cases.cases_of(index), own)

    def test_large_scores_are_for_what_has_a_maximum(self):
        sums = {**self.SPEC, "normalize": {"weight": "score", "output": "acc"}}
        self.assertEqual([own_specs.case_of(s, {}).large for s in (self.SPEC, sums)], [True, False])

    def test_lengths_may_be_fixed(self):
        case = own_specs.case_of({**self.SPEC, "fixed": {"seq_q": 49, "seq_kv": 49}}, {})
        shapes = case_module.shapes_of(case)
        self.assertEqual({(s.seq_q, s.seq_kv) for s in shapes}, {(49, 49)})
        self.assertEqual(len(shapes), len(set(shapes)))
        self.assertEqual({s.strides for s in shapes}, set(case_module.STRIDES))


class Errors(unittest.TestCase):
    def tables(self, names, draw):
        """(exit status, what was printed) of a check of these cases."""
        results = [{"case": name, "calls": 3, "rows": 5, "worst": {"o": {"ratio": 0.5}}}
                   for name in names]
        with tempfile.TemporaryDirectory() as folder:
            check = Path(folder) / "gpu_check.json"
            check.write_text(json.dumps({"device": "", "date": "", "commit": "", "seed": 1,
                                         "draw": draw, "cases": results}))
            run = subprocess.run([sys.executable, SCRIPTS / "gpu_errors.py", check],
                                 capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr

    def test_those_of_another_draw_are_told(self):
        names = [case.name for case in cases.all_cases("41:3")]
        status, text = self.tables(names, "41:3")
        self.assertEqual(status, 0)
        self.assertIn("| random specs | 3 | 9 | 15 | 0.50 |", text)

    def test_what_it_does_not_know_is_no_success(self):
        status, text = self.tables(["nonsense"], "")
        self.assertEqual(status, 1)
        self.assertIn("nonsense", text)


class SanitizeDriver(unittest.TestCase):
    def build(self, entries, nvcc):
        """(whether it failed, whether there is a driver), where there was an old one."""
        with tempfile.TemporaryDirectory() as folder:
            driver = Path(folder) / "sanitize_driver"
            driver.write_text("old")
            args = types.SimpleNamespace(out=Path(folder), target="h100", nvcc=nvcc)
            failed = build_gpu_cases.build_sanitize_driver(entries, args)
            return failed, driver.exists()

    def test_no_old_driver_passes_for_one_that_was_not_built(self):
        built = [{"name": name, "library": name} for name in build_gpu_cases.SANITIZE]
        self.assertEqual(self.build(built, "false"), (True, False))
        self.assertEqual(self.build([*built[1:], {"name": built[0]["name"], "error": "refused"}],
                                    "true"), (True, False))

    def test_a_driver_that_was_not_asked_for_stays(self):
        self.assertEqual(self.build([], "false"), (False, True))


if __name__ == "__main__":
    unittest.main()
