"""Runs the real executable: what it says of itself, of specs, and of files that it cannot use."""

import json
import os
import unittest

from command_line import FILES, SOURCE, SPEC, CommandLine


class Process(CommandLine):
    # What is asked about the program itself.

    def test_help_fits_80_columns_and_shows_examples(self):
        result = self.run_raw("--help")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        text = result.stdout.decode()
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertIn("Examples:\n", text)
        for option in ("--output", "--target", "--emit", "--explain", "--report", "--schedule", "--schema",
                       "--list-targets", "--print-target", "--print-outputs", "--depfile",
                       "--check", "--stdout", "--error-format", "--version", "--help"):
            self.assertIn(option, text)

    def test_version(self):
        self.check("--version", out="attngen 0.1.0\n")

    def test_schema_is_json(self):
        result = self.run_raw("--schema")
        self.assertEqual(result.returncode, 0)
        schema = json.loads(result.stdout)
        self.assertEqual(schema["$schema"], "https://json-schema.org/draft/2020-12/schema")

    def test_targets(self):
        self.check("--list-targets", out=(
            "a100    NVIDIA A100 SXM 80 GB (no kernels yet: a hardware model alone)\n"
            "h100    NVIDIA H100 SXM5 80 GB\n"
            "h200    NVIDIA H200 SXM 141 GB\n"
            "mi250   AMD Instinct MI250, one of its two GCDs (one device)\n"))
        for name in ("a100", "h100", "h200", "mi250"):
            model = (SOURCE / "specs/hardware" / f"{name}.json").read_text()
            self.check("--print-target", name, out=model)

    # Specs with a warning, and wrong ones.

    def test_a_warning_stops_nothing(self):
        self.write("tiny.yaml", SPEC + "constants: {cap: 30}\n")
        warning = ("tiny.yaml:9:13: warning: constant 'cap' is never read\n"
                   "    9 | constants: {cap: 30}\n"
                   "      |             ^~~\n")
        self.check("tiny.yaml", "-o", "out", err=warning)
        self.assertEqual(self.listing(), FILES)
        self.check("tiny.yaml", "-o", "out", "--check", err=warning)
        self.check("tiny.yaml", "-o", "out", "--error-format", "json",
                   err='{"file":"tiny.yaml","line":9,"column":13,"severity":"warning","message":'
                       '"constant \'cap\' is never read","help":"","pointer":"/constants/cap"}\n')
        # Who asks for the paths runs again.
        self.check("tiny.yaml", "--print-outputs", "--emit", "header", out="tiny.h\n")
        # What is not emitted may be what would read it.
        self.write("tiny.yaml", SPEC + "constants: {cap: 30}\npasses: [decode]\n")
        result = self.run_raw("tiny.yaml", "-o", "out")
        self.assertNotIn(b"warning", result.stderr)



    def test_an_error_has_its_line_and_caret(self):
        self.write("bad.yaml", SPEC.replace("mask: kv_idx <= q_pos", "mask: kv_idx <= q_poss"))
        self.check("bad.yaml", "-o", "out", code=1,
                   err="bad.yaml:7:17: error: unknown name 'q_poss'\n"
                       "    7 | mask: kv_idx <= q_poss\n"
                       "      |                 ^~~~~~\n"
                       "help: did you mean 'q_pos'?\n")
        self.assertIsNone(self.listing())

    def test_json_errors(self):
        self.write("bad.yaml", SPEC.replace("heads:", "heds:"))
        result = self.run_raw("bad.yaml", "-o", "out", "--error-format", "json")
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        errors = [json.loads(line) for line in result.stderr.splitlines()]
        self.assertIn(("bad.yaml", 5, 1, "error", "unknown key 'heds'"),
                      [tuple(error[key] for key in ("file", "line", "column", "severity", "message"))
                       for error in errors])

    def test_an_unknown_target_in_a_spec(self):
        self.write("bad.yaml", SPEC.replace("[h100]", "[h101]"))
        result = self.run_raw("bad.yaml", "-o", "out")
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertTrue(result.stderr.decode().startswith(
            "bad.yaml:8:11: error: unknown target 'h101'\n"), result.stderr)
        self.assertTrue(result.stderr.decode().endswith("help: did you mean 'h100'?\n"))

    def test_an_error_in_one_spec_writes_nothing_and_all_errors_are_printed(self):
        self.write("good.yaml", SPEC)
        self.write("bad1.yaml", SPEC.replace("q_pos", "q_poss"))
        self.write("bad2.yaml", SPEC.replace("heads:", "heds:"))
        result = self.run_raw("good.yaml", "bad1.yaml", "bad2.yaml", "-o", "out")
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertIn("bad1.yaml:7:17: error: unknown name 'q_poss'\n", result.stderr.decode())
        self.assertIn("bad2.yaml:5:1: error: unknown key 'heds'\n", result.stderr.decode())
        self.assertIsNone(self.listing())

    def test_two_specs_of_one_name(self):
        self.write("a.yaml", SPEC)
        self.write("b.yaml", SPEC)
        self.check("a.yaml", "b.yaml", "-o", "out", code=1,
                   err="attngen: error: a.yaml and b.yaml would both write tiny_h100.cu\n"
                       "help: give each spec its own name\n")
        self.assertIsNone(self.listing())

    def test_two_names_that_differ_in_case(self):
        self.write("a.yaml", SPEC)
        self.write("b.yaml", SPEC.replace("tiny", "Tiny"))
        self.check("a.yaml", "b.yaml", "-o", "out", code=1,
                   err="attngen: error: a.yaml and b.yaml would write tiny_h100.cu and "
                       "Tiny_h100.cu, which differ in case alone\n"
                       "help: give each spec its own name\n")
        self.assertIsNone(self.listing())

    def check_kept(self, name, *words, path=None, help):
        """A run of these words would write over the file, which it leaves as it was."""
        before = (self.folder / name).read_bytes()
        self.check(*words, code=2,
                   err=f"attngen: error: '{path or name}' would be overwritten\nhelp: {help}\n")
        self.assertEqual((self.folder / name).read_bytes(), before)

    def test_inputs_are_not_overwritten(self):
        self.write_schedule()
        os.rename(self.folder / "schedule.json", self.folder / "tiny.json")
        self.write("sub.json", json.dumps({
            "attngen": 1, "name": "sub", "dtype": "bf16", "heads": {"q": 8, "kv": 2},
            "head_dim": {"qk": 128, "v": 128}}))
        (self.folder / "link").symlink_to(".")
        there = sorted(os.listdir(self.folder))
        folder = "give -o another folder"
        self.check_kept("sub.json", "sub.json", "-o", ".", help=folder)
        self.check_kept("sub.json", "./sub.json", "-o", "link", path="./sub.json", help=folder)
        self.check_kept("sub.json", "tiny.yaml", "sub.json", "-o", self.folder, "--explain",
                        help=folder)
        self.check_kept("tiny.json", "tiny.yaml", "--schedule", "tiny.json", "-o", ".", help=folder)
        depfile = "give --depfile a path of its own"
        self.check_kept("tiny.yaml", "tiny.yaml", "-o", "out", "--depfile", "link/tiny.yaml",
                        help=depfile)
        self.check_kept("tiny.json", "tiny.yaml", "--schedule", "tiny.json", "-o", "out",
                        "--depfile", "tiny.json", help=depfile)
        self.assertEqual(sorted(os.listdir(self.folder)), there)
        # No harm is done where nothing is written, or not that file.
        self.check("sub.json", "-o", ".", "--print-outputs",
                   out="./sub_h100.cu\n./sub.h\n./sub.json\n")
        self.check("sub.json", "-o", ".", "--emit", "header")

    def test_a_depfile_is_named_before_anything_is_written(self):
        self.write("tiny.yaml", SPEC)
        self.check("tiny.yaml", "-o", "out", "--depfile", "deps/", code=2,
                   err="attngen: error: --depfile 'deps/' names no file\n"
                       "help: give the file's own name, as in --depfile kernels.d\n")
        self.assertIsNone(self.listing())

    def test_the_depfile_is_no_output(self):
        self.write("tiny.yaml", SPEC)
        for depfile in ("./out/tiny.h", str(self.folder / "out/x/../tiny.h")):
            self.check("tiny.yaml", "-o", "out/", "--depfile", depfile, code=2,
                       err=f"attngen: error: '{depfile}' would be overwritten\n"
                           "help: give --depfile a path of its own\n")
        self.assertIsNone(self.listing())
        (self.folder / "out").mkdir()
        (self.folder / "link").symlink_to("out")
        self.write("out/tiny.json", "old")
        (self.folder / "a.d").symlink_to("out/tiny.json")
        for depfile in ("link/tiny.h", "a.d"):
            self.check("tiny.yaml", "-o", "out/", "--depfile", depfile, code=2,
                       err=f"attngen: error: '{depfile}' would be overwritten\n"
                           "help: give --depfile a path of its own\n")
        self.assertEqual(self.listing(), ["tiny.json"])

    def test_standard_input_has_a_name_in_errors(self):
        result = self.run_raw("-", "--stdout", stdin=b"attngen: [")
        self.assertEqual((result.returncode, result.stdout), (1, b""))
        self.assertTrue(result.stderr.startswith(b"<stdin>:"), result.stderr)

    def test_any_bytes_are_an_error_not_a_crash(self):
        for text in (b"", b"\0", b"\xff\xfe", b"{", b"[" * 100_000, b"a: &a [*a]", b"- " * 50_000,
                     b"attngen: 1\nattngen: 1\n", b'{"attngen": 1e999}', bytes(range(256)),
                     b"x" * (2 << 20)):
            result = self.run_raw("-", "--stdout", stdin=text)
            self.assertEqual((result.returncode, result.stdout), (1, b""), text[:40])
            self.assertIn(b"error: ", result.stderr)

    # Files that cannot be read or written.

    def test_the_status_is_the_greatest(self):
        self.write("bad.yaml", SPEC.replace("heads:", "heds:"))
        for specs in (("none.yaml", "bad.yaml"), ("bad.yaml", "none.yaml")):
            result = self.run_raw(*specs, "-o", "out")
            self.assertEqual((result.returncode, result.stdout), (4, b""))
            self.assertIn(b"cannot read 'none.yaml'", result.stderr)
            self.assertIn(b"unknown key 'heds'", result.stderr)
        self.assertIsNone(self.listing())

    def test_a_missing_spec(self):
        self.write("tiny.yaml", SPEC)
        self.check("tiny.yaml", "none.yaml", "-o", "out", code=4,
                   err="attngen: error: cannot read 'none.yaml': No such file or directory\n")
        self.assertIsNone(self.listing())

    def test_no_path_is_a_command_to_the_terminal(self):
        self.check("\x1b[31m\u009bx.yaml", "-o", "out", code=4,
                   err="attngen: error: cannot read '?[31m?x.yaml': No such file or directory\n")
        self.check("\x1b[31m\u009bx.yaml", "-o", "out", "--error-format", "json", code=4,
                   err='{"severity":"error","message":"cannot read \'\\u001b[31m\\u009bx.yaml\': '
                       'No such file or directory","help":""}\n')

    def test_an_endless_spec(self):
        result = self.run_raw("/dev/zero", "-o", "out")
        self.assertEqual((result.returncode, result.stdout), (1, b""))

    def test_a_folder_that_cannot_be_made(self):
        self.write("tiny.yaml", SPEC)
        self.write("out", "a file")
        result = self.run_raw("tiny.yaml", "-o", "out")
        self.assertEqual((result.returncode, result.stdout), (4, b""))
        self.assertTrue(result.stderr.startswith(b"attngen: error: "))
        self.assertEqual(len(result.stderr.splitlines()), 1)
        (self.folder / "loop").symlink_to("loop")
        for folder, why in (("x" * 300, "File name too long"),
                            ("loop/x", "Too many levels of symbolic links")):
            self.check("tiny.yaml", "-o", folder, code=4,
                       err=f"attngen: error: cannot create folder '{folder}': {why}\n")

    def test_usage_errors(self):
        self.check("tiny.yaml", "-o", "out", "--target", "h101", code=2,
                   err="attngen: error: unknown target 'h101'\nhelp: did you mean 'h100'?\n")
        self.check(code=2, err="attngen: error: no spec is given\nhelp: attngen spec.yaml -o out/\n")


if __name__ == "__main__":
    unittest.main()
