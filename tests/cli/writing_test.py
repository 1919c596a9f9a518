"""Runs the real executable: what it writes, lists and compares."""

import json
import os
import subprocess
import unittest

from command_line import ATTNGEN, FILES, SOURCE, SPEC, CommandLine


class Writing(CommandLine):
    def test_success_is_silent_and_writes_three_files(self):
        self.write("tiny.yaml", SPEC)
        self.check("tiny.yaml", "-o", "out/")
        self.assertEqual(self.listing(), FILES)
        json.loads((self.folder / "out/tiny.json").read_text())

    def test_a_second_run_rewrites_nothing(self):
        self.write("tiny.yaml", SPEC)
        self.check("tiny.yaml", "-o", "out")
        before = {name: os.stat(self.folder / "out" / name) for name in FILES}
        self.check("tiny.yaml", "-o", "out")
        for name, stat in before.items():
            after = os.stat(self.folder / "out" / name)
            self.assertEqual((stat.st_mtime_ns, stat.st_ino), (after.st_mtime_ns, after.st_ino))

    def test_the_bytes_depend_on_the_spec_alone(self):
        self.write("tiny.yaml", SPEC)
        self.write("other place.json", json.dumps({
            "attngen": 1, "name": "tiny", "pattern": "parallel", "dtype": "bf16",
            "heads": {"q": 8, "kv": 2}, "head_dim": {"qk": 128, "v": 128},
            "mask": "kv_idx <= q_pos", "targets": ["h100"]}))
        self.check("tiny.yaml", "-o", "out")
        locale = {"LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "HOME": "/", "USER": "x"}
        self.assertEqual(self.run_raw("other place.json", "-o", "out2", environment=locale).stderr,
                         b"")
        for name in FILES:
            self.assertEqual((self.folder / "out" / name).read_bytes(),
                             (self.folder / "out2" / name).read_bytes(), name)

    def test_emit_selects(self):
        self.write("tiny.yaml", SPEC)
        self.check("tiny.yaml", "-o", "out", "--emit", "header,manifest")
        self.assertEqual(self.listing(), ["tiny.h", "tiny.json"])

    def test_target_overrides_the_spec(self):
        self.write("tiny.yaml", SPEC)
        self.check("tiny.yaml", "-o", "out", "--target", "h100,h200", "--emit", "kernel")
        self.assertEqual(self.listing(), ["tiny_h100.cu", "tiny_h200.cu"])

    def test_several_specs(self):
        self.write("tiny.yaml", SPEC)
        self.write("other.yaml", SPEC.replace("tiny", "other"))
        self.check("tiny.yaml", "other.yaml", "-o", "out", "--emit", "header")
        self.assertEqual(self.listing(), ["other.h", "tiny.h"])

    def test_standard_input_and_output(self):
        self.write("tiny.yaml", SPEC)
        self.check("tiny.yaml", "-o", "out")
        kernel = (self.folder / "out/tiny_h100.cu").read_text()
        header = (self.folder / "out/tiny.h").read_text()
        self.check("-", "--stdout", stdin=SPEC.encode(), out=kernel)
        self.check("-", "--stdout", "--emit", "header", stdin=SPEC.encode(), out=header)

    def test_stdout_prints_one_file(self):
        self.write("tiny.yaml", SPEC)
        self.check("tiny.yaml", "--stdout", "--target", "h100,h200", code=2,
                   err="attngen: error: --stdout prints one file, but the specs, --target and "
                       "--emit ask for 2\n")

    def test_a_full_disk_is_noticed(self):
        self.write("tiny.yaml", SPEC)
        with open("/dev/full", "wb") as full:
            result = subprocess.run([ATTNGEN, "tiny.yaml", "--stdout"], cwd=self.folder,
                                    stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual((result.returncode, result.stderr),
                         (4, b"attngen: error: cannot write to standard output\n"))

    # --print-outputs, --depfile, --check.

    def test_print_outputs_writes_nothing(self):
        self.write("tiny.yaml", SPEC)
        self.check("tiny.yaml", "-o", "out", "--print-outputs",
                   out="out/tiny_h100.cu\nout/tiny.h\nout/tiny.json\n")
        self.check("tiny.yaml", "--print-outputs", "--emit", "kernel", "--target", "h200",
                   out="tiny_h200.cu\n")
        self.assertIsNone(self.listing())

    def test_print_outputs_is_what_is_written(self):
        self.write("tiny.yaml", SPEC)
        names = self.run_raw("tiny.yaml", "--print-outputs").stdout.decode().split()
        self.check("tiny.yaml", "-o", "out")
        self.assertEqual(sorted(names), self.listing())

    def test_depfile(self):
        self.write("my spec.yaml", SPEC)
        self.write("other.yaml", SPEC.replace("tiny", "other"))
        words = ("my spec.yaml", "other.yaml", "-o", "out", "--emit", "kernel,header",
                 "--depfile", "deps/a.d")
        self.check(*words, code=4,
                   err="attngen: error: cannot write 'deps/a.d': no folder 'deps'\n")
        (self.folder / "deps").mkdir()
        self.check(*words)
        self.assertEqual((self.folder / "deps/a.d").read_text(),
                         "out/tiny_h100.cu out/tiny.h: my\\ spec.yaml\n"
                         "out/other_h100.cu out/other.h: other.yaml\n")

    def test_a_depfile_that_is_no_file(self):
        self.write("tiny.yaml", SPEC)
        rule = "out/tiny.h: tiny.yaml\n"
        words = ("tiny.yaml", "-o", "out", "--emit", "header", "--depfile")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.check(*words, "pipe")
        self.assertEqual(os.read(reader, 1000).decode(), rule)
        os.close(reader)
        self.assertTrue(pipe.is_fifo())
        self.write("there.d", "")
        (self.folder / "link.d").symlink_to("there.d")
        self.check(*words, "link.d")
        self.assertTrue((self.folder / "link.d").is_symlink())
        self.assertEqual((self.folder / "there.d").read_text(), rule)
        # A file that others write to as well keeps what they wrote.
        log = self.folder / "log"
        with log.open("wb") as stdout:
            stdout.write(b"before\n")
            stdout.flush()
            for device in ("/dev/stdout", "/dev/stderr"):
                subprocess.run([ATTNGEN, *words, device], cwd=self.folder, check=True,
                               stdout=stdout, stderr=stdout)
            stdout.seek(0, os.SEEK_END)
            stdout.write(b"after\n")
        self.assertEqual(log.read_text(), f"before\n{rule}{rule}after\n")
        # Of a link into nothing the rules take the place, not of the header that comes to be there.
        (self.folder / "none.d").symlink_to("new/tiny.h")
        self.check("tiny.yaml", "-o", "new", "--emit", "header", "--depfile", "none.d")
        self.assertIn("#ifndef", (self.folder / "new/tiny.h").read_text())

    def test_what_is_no_file_stays(self):
        self.write("tiny.yaml", SPEC)
        (self.folder / "out").mkdir()
        os.mkfifo(self.folder / "out/tiny.json")
        self.check("tiny.yaml", "-o", "out", code=4,
                   err="attngen: error: cannot write 'out/tiny.json': "
                       "it is a device, a pipe or a socket\n")
        self.assertEqual(self.listing(), ["tiny.json"])

    def test_check(self):
        self.write("tiny.yaml", SPEC)
        self.check("tiny.yaml", "-o", "out", "--check", code=1,
                   out="missing: out/tiny_h100.cu\nmissing: out/tiny.h\nmissing: out/tiny.json\n")
        self.assertIsNone(self.listing())
        self.check("tiny.yaml", "-o", "out")
        self.check("tiny.yaml", "-o", "out", "--check")
        with open(self.folder / "out/tiny.h", "a") as header:
            header.write(" ")
        self.check("tiny.yaml", "-o", "out", "--check", code=1, out="differs: out/tiny.h\n")
        # What cannot be read is neither equal nor missing.
        (self.folder / "out/tiny.json").unlink()
        (self.folder / "out/tiny.json").mkdir()
        (self.folder / "out/tiny_h100.cu").unlink()
        (self.folder / "out/tiny_h100.cu").symlink_to("tiny_h100.cu")
        self.check("tiny.yaml", "-o", "out", "--check", code=4, out="differs: out/tiny.h\n",
                   err="attngen: error: cannot read 'out/tiny_h100.cu': "
                       "Too many levels of symbolic links\n"
                       "attngen: error: cannot read 'out/tiny.json': Is a directory\n")

    def check_folder(self, folder, *options):
        """Holds a folder of generated/ to the model specs; returns the names that it should have."""
        specs = sorted(str(path.relative_to(SOURCE)) for path in SOURCE.glob("specs/models/*.yaml"))
        self.assertTrue(specs)
        check = subprocess.run([ATTNGEN, *specs, *options, "-o", folder, "--check"], cwd=SOURCE,
                               capture_output=True, check=False)
        self.assertEqual((check.returncode, check.stdout, check.stderr), (0, b"", b""))
        names = subprocess.run([ATTNGEN, *specs, *options, "--print-outputs"], cwd=SOURCE,
                               capture_output=True, check=True).stdout.decode().split()
        there = {path.name for path in (SOURCE / folder).iterdir()} - {"README.md", "mi250"}
        self.assertEqual(there, set(names))

    def test_the_checked_in_kernels_are_what_the_specs_give(self):
        self.check_folder("generated")
        self.check_folder("generated/mi250", "--target", "mi250")


if __name__ == "__main__":
    unittest.main()
