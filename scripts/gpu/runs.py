"""One call of one kernel, held to everything that does not need the oracle: the status, the memory
around the outputs, and the same bits a second time and from a captured graph.
"""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch


@dataclass
class Outputs:
    o: torch.Tensor  # [batch, seq_q, heads, dim]
    saves: dict  # name -> [batch, maps * heads, seq_q]


class Runner:
    def __init__(self, kernel, problem):
        self.kernel, self.problem = kernel, problem
        self.args = kernel.args(problem)
        size = kernel.workspace_bytes(ctypes.byref(self.args))
        self.workspace = torch.empty(max(size, 16), dtype=torch.uint8, device="cuda")
        self.failures = []

    def launch(self, new_thread=False):
        stream = torch.cuda.current_stream().cuda_stream
        call = (self.kernel.forward, ctypes.byref(self.args), self.workspace.data_ptr(), stream)
        if not new_thread:
            return call[0](*call[1:])
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(*call).result()

    def poison_outputs(self):
        self.problem.o.poison()
        for save in self.problem.saves.values():
            save.poison()

    def poison(self):
        self.poison_outputs()
        self.workspace.fill_(0x5B)  # as a counter of tiles: far beyond the last

    def collect(self, what):
        problem = self.problem
        o, clean = problem.o.take()
        if not clean:
            self.failures.append(f"{what}: wrote outside o")
        saves = {}
        for name, save in problem.saves.items():
            value, clean = save.take()
            if not clean:
                self.failures.append(f"{what}: wrote outside {name}")
            batch, queries = problem.o.view.shape[:2]
            saves[name] = value.reshape(batch, -1, queries)
        return Outputs(o, saves)

    def run(self, what="run", new_thread=False):
        """The outputs, or None if the call was refused. It may be the first of its thread, which has
        no context then."""
        self.poison()
        status = self.launch(new_thread)
        if status != 0:
            self.failures.append(f"{what}: status {status}: {self.kernel.status_string(status)}")
            return None
        torch.cuda.synchronize()
        return self.collect(what)

    def run_graph(self):
        """Captures the call, then replays it over poisoned outputs, twice: the second time the
        workspace holds what the same call left.
        """
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            status = self.launch()
        if status != 0:
            self.failures.append(f"capture: status {status}: {self.kernel.status_string(status)}")
            return None
        self.poison()
        graph.replay()
        self.poison_outputs()
        graph.replay()
        torch.cuda.synchronize()
        return self.collect("graph replay")

    def expect_same(self, what, a, b):
        if a is None or b is None:
            return
        pairs = [("o", a.o, b.o)] + [(n, a.saves[n], b.saves[n]) for n in a.saves]
        for name, x, y in pairs:
            integer = {2: torch.int16, 4: torch.int32}[x.element_size()]
            if not torch.equal(x.view(integer), y.view(integer)):
                self.failures.append(f"{what}: {name} has other bits")


def check_arguments(kernel, problem):
    """Bad arguments get the status that names them, and nothing is launched."""
    failures = []
    fields = dict(kernel.fields)
    runner = Runner(kernel, problem)

    def expect(what, word, **changes):
        args = kernel.args(problem)
        for name, value in changes.items():
            if name in fields:  # packed sequences have no batch stride
                setattr(args, name, value)
        runner.args = args
        runner.poison()
        status = runner.launch()
        torch.cuda.synchronize()
        text = kernel.status_string(status)
        if status == 0 or word not in text:
            failures.append(f"{what}: status {status} '{text}', expected one with '{word}'")
        outputs = [problem.o, *problem.saves.values()]
        if not all(bool((output.bytes == 0xFF).all()) for output in outputs):
            failures.append(f"{what}: wrote an output")

    def bad_stride(name, stride):
        # Of pages of one key, one key's row is a page's.
        of_one = problem.pages is not None and problem.pages.size == 1 and name in "kv"
        return {f"{name}_stride_batch": 8_000_000, f"{name}_stride_head": 128,
                f"{name}_stride_{'page' if of_one else 'seq'}": stride}

    args = kernel.args(problem)
    expect("size 0", "size", size=0)
    expect("size of a longer struct", "size", size=args.size + 8)
    for name in [name for name in "qkvo" if name in fields]:  # values may be columns of the keys
        expect(f"{name} null", "null", **{name: None})
        expect(f"{name} misaligned", "aligned", **{name: getattr(args, name) + 2})
        expect(f"{name} odd stride", "stride", **bad_stride(name, 1001))
        expect(f"{name} negative stride", "stride", **bad_stride(name, -1024))
    expect("o stride 0", "stride", o_stride_batch=8_000_000, o_stride_seq=0, o_stride_head=128)
    expect("heads_q", "heads", heads_q=args.heads_q + 1)
    expect("heads_kv", "heads", heads_kv=args.heads_kv * 2)
    for name in fields.keys() & {"batch", "seq_q", "seq_kv", "total_q", "total_kv"}:
        expect(f"{name} negative", "length", **{name: -1})
        expect(f"{name} huge", "length", **{name: 1 << 40})
    for name in problem.inputs:
        if hasattr(problem.inputs[name], "data_ptr"):
            expect(f"{name} null", "null", **{name: None})
            if problem.inputs[name].element_size() > 1:
                expect(f"{name} misaligned", "aligned", **{name: getattr(args, name) + 1})
    return failures + runner.failures


def check_optional(kernel, problem, expected):
    """Saves may be null; a batch or seq_q of 0 is nothing to do."""
    runner = Runner(kernel, problem)
    for name in problem.saves:
        setattr(runner.args, name, None)
    got = runner.run("saves null")
    if got is not None:
        for save in got.saves.values():
            if not bool(torch.isnan(save).all()):
                runner.failures.append("saves null: a save was written")
        runner.expect_same("saves null", Outputs(got.o, {}), Outputs(expected.o, {}))
    for name in dict(kernel.fields).keys() & {"batch", "seq_q", "total_q"}:
        empty = Runner(kernel, problem)
        setattr(empty.args, name, 0)
        empty.poison()
        status = empty.launch()
        torch.cuda.synchronize()
        if status != 0:
            runner.failures.append(f"{name} 0: status {status}")
        if not bool((problem.o.bytes == 0xFF).all()):
            runner.failures.append(f"{name} 0: wrote o")
    return runner.failures
