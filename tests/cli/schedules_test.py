"""Runs the real executable: schedules, given and explained."""

import html.parser
import json
import os
import unittest

from command_line import SOURCE, SPEC, CommandLine


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


class Schedules(CommandLine):
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

    def test_lists_of_distinct_keys_are_read_the_faster_way(self):
        few = SPEC + "workload: {batch: 1, seq_q: 8192}\ntokens: {indices: 2048, distinct: true}\n"
        self.write("tiny.yaml", few)
        text = self.run_raw("tiny.yaml", "-o", "out", "--explain", "--report", "html").stdout.decode()
        self.assertIn("longest first, lists as a mask. ", " ".join(text.split("\n")))
        self.assertRegex(" ".join(text.split()), r"Of the other way with lists the fastest takes [\d.]+ us: 64x\d+, [^.]*, heads packed\.")
        self.assertRegex(" ".join(text.split()), r"\d+ % the asking of pairs beforehand")
        page = (self.folder / "out/tiny_h100.html").read_text()
        self.assertIn("Of the other way with lists the fastest takes", page)
        kernel = (self.folder / "out/tiny_h100.cu").read_text()
        self.assertNotIn("kGatherers", kernel)
        chosen = json.loads((self.folder / "out/tiny.json").read_text())["targets"][0]["schedule"]
        self.assertIs(chosen["lists_as_mask"], True)
        self.write("schedule.json", json.dumps(chosen))
        self.check("tiny.yaml", "-o", "again", "--schedule", "schedule.json")
        again = (self.folder / "again/tiny_h100.cu").read_text()
        self.assertEqual(again.replace("Schedule (given)", "Schedule"), kernel)
        self.write("tiny.yaml", few.replace("seq_q: 8192", "seq_q: 1, seq_kv: 131072"))
        text = self.run_raw("tiny.yaml", "--explain").stdout.decode()
        self.assertRegex(" ".join(text.split()), r"Of the other way with lists [^:]*: [^.]*, lists as a mask\.")
        self.write("tiny.yaml", few.replace(", distinct: true", ""))
        self.assertNotIn("Of the other way", self.run_raw("tiny.yaml", "--explain").stdout.decode())
        result = self.run_raw("tiny.yaml", "-o", "out", "--schedule", "schedule.json")
        self.assertEqual(result.returncode, 3)
        self.assertIn(": a mask is made of lists of tokens whose keys are distinct; there are none\n",
                      result.stderr.decode())

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


if __name__ == "__main__":
    unittest.main()
