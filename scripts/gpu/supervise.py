"""Runs cases in worker processes, and outlives those that hang or crash."""

import contextlib
import json
import queue
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

WORKER = Path(__file__).resolve().parent / "worker.py"


class Worker:
    """One process. `check` returns a case's result; a worker that is no longer alive is spent."""

    def __init__(self, settings_json, silence):
        self.silence = silence  # seconds without an event that mean a hang
        self.process = subprocess.Popen([sys.executable, "-u", str(WORKER), settings_json],
                                        bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pending = b""
        self.alive = True

    def stop(self):
        self.alive = False
        with self.process:  # closes its pipes
            self.process.kill()

    def next_event(self):
        """{"broken": why} after a hang or the end of the process."""
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.process.stdout], [], [], self.silence)
            if not ready:
                return {"broken": f"no answer in {self.silence} s"}
            piece = self.process.stdout.read(1 << 16)
            if not piece:
                return {"broken": f"the process ended with {self.process.wait()}"}
            self.pending += piece
        line, self.pending = self.pending.split(b"\n", 1)
        return json.loads(line)

    def check(self, name):
        result = {"case": name, "calls": 0, "rows": 0, "worst": {}, "failures": []}
        began, last_call = time.monotonic(), ""
        with contextlib.suppress(OSError):  # it has ended: its output says so below
            self.process.stdin.write(f"{name}\n".encode())
        while True:
            event = self.next_event()
            if "broken" in event:
                result["failures"].append({"shape": last_call, "text": event["broken"]})
                self.stop()
                break
            if "call" in event:
                last_call = event["call"]
                result["calls"] += 1
            elif "fail" in event:
                result["failures"].append({"shape": event["shape"], "text": event["fail"]})
            elif "done" in event:
                result.update(event["done"])
                break
        result["seconds"] = time.monotonic() - began
        return result


def run_cases(chunks, settings_json, workers, on_result, silence=60, deadline=None):
    """Checks each chunk's cases in order, in one process unless that dies. `on_result` is called
    from one thread at a time, and not for what the deadline leaves out.
    """
    todo, lock = queue.Queue(), threading.Lock()
    for chunk in chunks:
        todo.put(chunk)

    def serve():
        worker = None
        while True:
            try:
                chunk = todo.get_nowait()
            except queue.Empty:
                break
            for name in chunk:
                if deadline and time.monotonic() > deadline:
                    break
                if worker is None or not worker.alive:
                    worker = Worker(settings_json, silence)
                result = worker.check(name)
                with lock:
                    on_result(result)
        if worker is not None:
            worker.stop()

    threads = [threading.Thread(target=serve) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
