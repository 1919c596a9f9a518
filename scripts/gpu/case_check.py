"""One kernel over its shapes: every output of every call held to the oracle."""

import dataclasses
from pathlib import Path

import torch

from gpu import full, rule, runs, tensors
from gpu.case import Shape, shapes_of
from gpu.kernel import Kernel
from gpu.oracle import Oracle
from gpu.rows import choose_rows

# More (batch, head) pairs than a grid's y or z dimension holds, on one small kernel.
MANY_HEADS = Shape(4097, 3, 5)
MANY_HEADS_CASE = "d64_causal"
# At this length the arguments and the captured graph are checked as well.
EXTRAS_AT = 239


@dataclasses.dataclass(frozen=True)
class Settings:
    build: str
    seed: int = 1
    quick: bool = False
    shape: str = ""  # only this call
    pairs: int = 1_000_000  # that the oracle computes for each call
    threads: int = 1


class CaseCheck:
    """`report` gets one dict at a time: {"call": ...} as each call begins, {"fail": ...}."""

    def __init__(self, case, entry, oracle_library, settings, shared, report):
        self.case, self.settings, self.shared, self.report = case, settings, shared, report
        folder = Path(settings.build)
        self.kernel = Kernel(folder / entry["library"], folder / entry["manifest"])
        self.oracle = Oracle(oracle_library, case.spec_text(), case.name)
        # Each map's weights are rounded, and the two may cancel.
        first = case.first_map_text() if case.spec.get("maps") == 2 else ""
        self.first_map = Oracle(oracle_library, first, case.name) if first else None
        self.worst, self.calls, self.rows = {}, 0, 0

    def shapes(self):
        if self.settings.shape:
            return [Shape.parse(self.settings.shape)]
        shapes = shapes_of(self.case, self.settings.quick)
        return shapes + [MANY_HEADS] * self.case.name.startswith(MANY_HEADS_CASE)

    def run(self):
        for shape in self.shapes():
            self.report({"call": shape.text()})
            self.check_shape(shape)
            self.calls += 1
        return {"calls": self.calls, "rows": self.rows,
                "worst": {name: {"ratio": v.ratio, "error": v.error, "allowed": v.allowed,
                                 "shape": shape} for name, (v, shape) in self.worst.items()}}

    def fail(self, shape, text):
        self.report({"fail": text, "shape": shape.text()})

    def check_shape(self, shape):
        settings = self.settings
        problem = tensors.draw(self.case, shape, self.kernel.save_names(), settings.seed,
                               "cuda")
        runner = runs.Runner(self.kernel, problem)
        extras = shape.seq_q == EXTRAS_AT or bool(settings.shape)
        first = runner.run()
        if first is not None:
            second = runner.run("second run, of another thread", new_thread=True)
            runner.expect_same("second run", first, second)
            if extras:
                runner.expect_same("graph replay", first, runner.run_graph())
            self.hold_rows(problem, first)
            self.hold_whole(problem, first)
            self.hold_agreement(problem, first)
        failures = runner.failures
        if extras and first is not None:
            failures += runs.check_arguments(self.kernel, problem)
            failures += runs.check_optional(self.kernel, problem, first)
        for text in failures:
            self.fail(shape, text)

    def note(self, shape, verdict):
        worst = self.worst.get(verdict.output)
        if worst is None or not verdict.ratio <= worst[0].ratio:
            self.worst[verdict.output] = (verdict, shape.text())

    def hold_rows(self, problem, got):
        shape, spec = problem.shape, self.case.spec
        rows = choose_rows(shape.batch, spec["heads"]["q"], shape.seq_q, shape.seq_kv,
                           self.settings.pairs, self.settings.seed)
        rows, batches, queries = problem.places(rows)
        exact_o, exact_saves = self.oracle_rows(problem, rows, Oracle.EXACT)
        naive_o, naive_saves = self.oracle_rows(problem, rows, Oracle.STORAGE)
        b, h, q = (torch.from_numpy(x.copy()).to(got.o.device)
                   for x in (batches, rows[:, 1], queries))
        sizes = None
        if self.first_map:
            first = self.first_map.rows(problem, rows, Oracle.EXACT, self.settings.threads)[0]
            sizes = abs(first) + abs(exact_o - first)
        verdicts = rule.hold_output(got.o[b, q, h].double().cpu().numpy(), exact_o, naive_o,
                                    spec["dtype"], sizes)
        # The oracle gives all saves of map 0, then all of map 1; in memory they are neighbours.
        maps = spec.get("maps", 1)
        for column, (name, head) in enumerate((name, maps * h + m) for m in range(maps)
                                              for name in got.saves):
            verdicts.append(rule.hold_save(name, got.saves[name][b, head, q].double().cpu().numpy(),
                                           exact_saves[:, column], naive_saves[:, column], spec))
        self.rows += len(rows)
        for verdict in verdicts:
            self.note(shape, verdict)
            if not verdict.ok:
                row = rows[verdict.where[0]].tolist() if verdict.where else []
                self.fail(shape, f"{verdict.output}: error {verdict.error:.3e} above "
                                 f"{verdict.allowed:.3e} at row (b, h, q) {row}, column "
                                 f"{list(verdict.where[1:])}, of {len(rows)} rows")

    def oracle_rows(self, problem, rows, arithmetic):
        """Cases that share data differ in their schedules alone: one oracle serves them."""
        if self.case.group != "agree":
            return self.oracle.rows(problem, rows, arithmetic, self.settings.threads)
        key = (self.case.data, problem.shape, arithmetic)
        if key not in self.shared:
            self.shared[key] = self.oracle.rows(problem, rows, arithmetic, self.settings.threads)
        return self.shared[key]

    def hold_whole(self, problem, got):
        shape = problem.shape
        if not self.case.mask or shape.seq_kv == 0 or shape == MANY_HEADS:
            return
        ratio, b, h = full.worst_excess(problem, got.o, rule.ROUNDOFF[self.case.spec["dtype"]])
        verdict = rule.Verdict("o, whole tensor", ratio, 1.0, ())
        self.note(shape, verdict)
        if not verdict.ok:
            self.fail(shape, f"{verdict.output}: {ratio:.2f} times what is allowed at batch {b}, "
                             f"head {h}")

    def hold_agreement(self, problem, got):
        """Two right results differ at most by both their errors."""
        if self.case.group != "agree":
            return
        key = (self.case.data, problem.shape, "output")
        name, other = self.shared.setdefault(key, (self.case.name, got.o.double()))
        if name == self.case.name:
            return
        apart = float((got.o.double() - other).abs().max()) if other.numel() else 0.0
        # Each rounds its weights and its result once.
        allowed = 4 * rule.ROUNDOFF[self.case.spec["dtype"]] * float(other.abs().max())
        verdict = rule.Verdict("o, across schedules", apart, allowed, ())
        self.note(problem.shape, verdict)
        if not verdict.ok:
            self.fail(problem.shape, f"{apart:.3e} apart from {name}, above {allowed:.3e}")
