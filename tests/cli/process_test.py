"""Runs the real executable: exit codes, what it prints, what it writes.

usage: process_test.py <attngen> <source folder>
"""

import html.parser
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


class Page(html.parser.HTMLParser):
    """Asserts that every element is closed in its turn, has each attribute once, loads nothing."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = set()

    def handle_element(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, attrs)
        assert not {"src", "href"} & set(names), (tag, attrs)
        assert not any("nan" in value or "inf" in value for _, value in attrs), (tag, attrs)
        self.seen.add(tag)

    def handle_starttag(self, tag, attrs):
        self.handle_element(tag, attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_element(tag, attrs)
        assert "svg" in self.open, f"<{tag}/> outside of SVG"

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.getpos())


def check_page(text):
    page = Page()
    page.feed(text)
    page.close()
    assert text.startswith("<!DOCTYPE html>\n")
    assert not page.open, page.open
    assert {"title", "h1", "svg", "circle", "rect", "table", "script"} <= page.seen, page.seen


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

    # Writing.

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

    # Schedules.

    def test_explain_alone_writes_nothing(self):
        self.write("tiny.yaml", SPEC)
        result = self.run_raw("tiny.yaml", "--explain")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertIn("h100", result.stdout.decode())
        self.assertEqual(os.listdir(self.folder), ["tiny.yaml"])

    def test_report_html_writes_a_page_for_each_target(self):
        self.write("tiny.yaml", SPEC)
        words = ("tiny.yaml", "--target", "h100,h200", "--report", "html")
        pages = ["tiny_h100.html", "tiny_h200.html"]
        self.assertEqual(self.run_raw(*words, "--print-outputs").stdout.decode().split(),
                         ["tiny_h100.cu", "tiny_h200.cu", "tiny.h", "tiny.json", *pages])
        self.check(*words, "-o", "out", "--emit", "kernel", "--depfile", "a.d")
        self.assertEqual(self.listing(), sorted(["tiny_h100.cu", "tiny_h200.cu", *pages]))
        self.assertIn("out/tiny_h200.html: tiny.yaml\n", (self.folder / "a.d").read_text())
        for page in pages:
            text = (self.folder / "out" / page).read_text()
            self.assertIn(page[5:9], text)
            check_page(text)

    def test_check_compares_pages_too(self):
        self.write("tiny.yaml", SPEC)
        words = ("tiny.yaml", "-o", "out", "--report", "html")
        self.check(*words)
        self.check(*words, "--check")
        (self.folder / "out/tiny_h100.html").unlink()
        self.check(*words, "--check", code=1, out="missing: out/tiny_h100.html\n")
        self.check("tiny.yaml", "-o", "out", "--check")

    def test_a_page_of_a_hostile_spec(self):
        self.write("tiny.yaml", SPEC +
                   "doc: '</style></script><script>alert(1)</script><!-- \"&'\n"
                   "score: score if 1 < 2 and q_idx > kv_idx else 0\n")
        self.check("tiny.yaml", "-o", "out", "--report", "html")
        text = (self.folder / "out/tiny_h100.html").read_text()
        check_page(text)
        self.assertEqual(text.count("<script>"), 1)
        self.assertIn("&lt;script&gt;alert(1)&lt;/script&gt;&lt;!-- &quot;&amp;", text)
        self.assertIn("score if 1 &lt; 2 and q_idx &gt; kv_idx else 0", text)

    def test_a_page_of_a_given_schedule(self):
        self.write_schedule(stages=2)
        self.check("tiny.yaml", "-o", "out", "--schedule", "schedule.json", "--report", "html")
        text = (self.folder / "out/tiny_h100.html").read_text()
        check_page(text)
        self.assertIn("<h2>1 schedule fits</h2>", text)

    def write_schedule(self, **changes):
        """The schedule that a search chose, changed."""
        self.write("tiny.yaml", SPEC)
        self.check("tiny.yaml", "-o", "chosen")
        manifest = json.loads((self.folder / "chosen/tiny.json").read_text())
        self.write("schedule.json", json.dumps({**manifest["targets"][0]["schedule"], **changes}))

    def test_the_schedule_of_a_manifest_can_be_replayed(self):
        self.write_schedule()
        self.check("tiny.yaml", "-o", "out", "--schedule", "schedule.json", "--depfile", "a.d")
        kernel = [line for line in (self.folder / "out/tiny_h100.cu").read_text().splitlines()
                  if not line.startswith("//")]
        chosen = [line for line in (self.folder / "chosen/tiny_h100.cu").read_text().splitlines()
                  if not line.startswith("//")]
        self.assertEqual(kernel, chosen)
        self.assertIn("tiny.yaml schedule.json\n", (self.folder / "a.d").read_text())
        manifest = json.loads((self.folder / "out/tiny.json").read_text())
        self.assertIs(manifest["targets"][0]["schedule_given"], True)

    def test_the_schedule_of_the_docs(self):
        self.write("tiny.yaml", SPEC)
        docs = (SOURCE / "docs/spec.md").read_text()
        schedule = docs.split("```json\n")[1].split("```")[0]
        self.write("schedule.json", schedule)
        self.check("tiny.yaml", "-o", "out", "--schedule", "schedule.json")
        manifest = json.loads((self.folder / "out/tiny.json").read_text())
        self.assertEqual(manifest["targets"][0]["schedule"], json.loads(schedule))
        self.check("tiny.yaml", "-o", "out", "--schedule", "out/tiny.json", "--emit", "kernel",
                   code=1,
                   err='out/tiny.json:%d:3: error: this is a manifest, not a schedule\n'
                       '%5d |   "targets": [\n'
                       '      |   ^~~~~~~~~\n'
                       "help: write the 'schedule' of one of its targets into a file of its own\n"
                       % ((self.line_of("out/tiny.json", '  "targets": ['),) * 2))

    def line_of(self, name, line):
        return (self.folder / name).read_text().split("\n").index(line) + 1

    def test_a_schedule_from_standard_input(self):
        self.write_schedule()
        schedule = (self.folder / "schedule.json").read_bytes()
        self.check("tiny.yaml", "-o", "out", "--schedule", "-", "--depfile", "a.d", stdin=schedule)
        self.assertTrue((self.folder / "a.d").read_text().endswith("out/tiny.json: tiny.yaml\n"))

    def test_an_infeasible_schedule_has_its_own_exit_code(self):
        self.write_schedule(tile_kv=256, stages=8)
        schedule = (self.folder / "schedule.json").read_bytes()
        for name, shown in (("schedule.json", "schedule.json"), ("-", "<stdin>")):
            result = self.run_raw("tiny.yaml", "-o", "out", "--schedule", name, stdin=schedule)
            self.assertEqual((result.returncode, result.stdout), (3, b""))
            self.assertRegex(result.stderr.decode(),
                             rf"\Aattngen: error: tiny.yaml: the schedule of {shown} does not fit "
                             r"'tiny' on h100: 128x256, 8 stages, .*: needs \d+ registers .*\n"
                             r"help: without --schedule, one that fits is searched for\n\Z")
        self.assertIsNone(self.listing())

    def test_a_wrong_schedule_file(self):
        self.write("tiny.yaml", SPEC)
        self.write("schedule.json", '{"tile_kw": 64}')
        self.check("tiny.yaml", "-o", "out", "--schedule", "schedule.json", code=1,
                   err="schedule.json:1:1: error: a schedule needs 'warpgroups', 'tile_kv', "
                       "'stages', 'weights', 'overlap', 'ping_pong', 'grid' and 'order'\n"
                       '    1 | {"tile_kw": 64}\n'
                       "      | ^~~~~~~~~~~~~~~\n"
                       "schedule.json:1:2: error: unknown key 'tile_kw'\n"
                       '    1 | {"tile_kw": 64}\n'
                       "      |  ^~~~~~~~~\n"
                       "help: did you mean 'tile_kv'?\n")
        self.assertIsNone(self.listing())
        self.check("tiny.yaml", "-o", "out", "--schedule", "-", "--error-format", "json", code=1,
                   stdin=b"[]", err='{"file":"<stdin>","line":1,"column":1,"severity":"error",'
                   '"message":"a schedule must be a map, got a list","help":"","pointer":""}\n')
        self.check("tiny.yaml", "-o", "out", "--schedule", "none.json", code=4,
                   err="attngen: error: cannot read 'none.json': No such file or directory\n")

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
        self.write("tiny.yaml", SPEC + "constants: {cap: 30}\nkv_cache: {paged: 64}\n")
        result = self.run_raw("tiny.yaml", "-o", "out")
        self.assertNotIn(b"warning", result.stderr)

    # Wrong specs.

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
