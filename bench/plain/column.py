"""The plain column of bench/timing: published sources, timed as they are. rows.csv says which source a measured row is
of; what was measured stands in ../timing_rows.csv."""

import concurrent.futures
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOTALS = ("body", "profiler", "benchmark")


def source_rows(measured):
    """Rows of rows.csv with what was measured, in their order."""
    by_id = {r["id"]: r for r in measured}
    with open(HERE / "rows.csv", newline="") as file:
        return [by_id[r["id"]] | r for r in csv.DictReader(file)]


def _distinct(rows):
    """The first row of each kernel and shape: several rows measure one program."""
    return {_program(r): r for r in reversed(rows)}


def _program(row):
    return tuple(row[k] for k in ("repository", "path", "pick", "function", "arguments", "set", "flags", "target"))


def answers(folder, build, rows, options, jobs=2):
    """What the model says of each row, by id."""
    with Workers(folder, build, jobs) as workers:
        return workers.answers(rows, options)


class Workers:
    """Processes that time rows; each row is asked of one of them, which traces it once."""

    def __init__(self, folder, build, jobs):
        environment = os.environ | {"PYTHONPATH": str(build / "python")}
        command = [sys.executable, HERE / "worker.py", folder]
        self._problems = [tempfile.TemporaryFile() for _ in range(jobs)]
        self._workers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=problems,
                                          text=True, env=environment) for problems in self._problems]
        self._place = {}  # of a row's worker

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker, problems in zip(self._workers, self._problems):
            worker.stdin.close()
            worker.wait()
            worker.stdout.close()
            problems.close()

    def answers(self, rows, options):
        """What the model says of each row, by id."""
        first = _distinct(rows)
        by_id = self._all([r | {"options": options} for r in first.values()])
        return {r["id"]: by_id[first[_program(r)]["id"]] for r in rows}

    def variants(self, rows, variants):
        """What the model says of each row with each of its variants: {"what_if": [...], "without": [...]}."""
        by_id = self._all([r | {"variants": v} for r, v in zip(rows, variants)])
        return [by_id[r["id"]] for r in rows]

    def _all(self, requests):
        shares = [[] for _ in self._workers]
        for request in requests:
            shares[self._place.setdefault(request["id"], len(self._place) % len(shares))].append(request)
        with concurrent.futures.ThreadPoolExecutor(len(shares)) as pool:
            done = pool.map(self._work, range(len(shares)), shares)
            return {a["id"]: a for part in done for a in part}

    def _work(self, place, requests):
        return [self._ask(place, json.dumps(r)) for r in requests]

    def _ask(self, place, line):
        worker, problems = self._workers[place], self._problems[place]
        try:
            print(line, file=worker.stdin, flush=True)
            return json.loads(worker.stdout.readline())
        except (OSError, ValueError):  # it is gone
            worker.wait()
            problems.seek(0)
            raise RuntimeError(problems.read().decode()[-2000:]) from None


def predicted(row, parts, metric_of):
    """What was measured, as the figures of the row's kernels have it."""
    return sum(metric_of(row["metric"], p) for p in parts)


def compared(rows, replies, metric_of):
    """Rows with predicted time, error and band, or with the problem."""
    results = []
    for row in rows:
        reply = replies[row["id"]]
        result = dict(row, measured_ns=float(row["measured_ns"]))
        if "problem" in reply:
            results.append(result | {"problem": reply["problem"]})
            continue
        parts = reply["parts"]
        result["predicted_ns"] = predicted(row, parts, metric_of)
        result["total_ns"] = sum(p["total_ns"] for p in parts)
        result["error"] = result["predicted_ns"] / result["measured_ns"] - 1
        added = result["predicted_ns"] - result["total_ns"] if row["metric"] in TOTALS else 0
        result["low_ns"] = sum(p["low_ns"] for p in parts) + added
        result["high_ns"] = sum(p["high_ns"] for p in parts) + added
        result["predicted_bottleneck"] = max(parts, key=lambda p: p["total_ns"])["bottleneck"]
        result["part"] = max(parts, key=lambda p: p["total_ns"])
        result["seconds"] = sum(p["seconds"] for p in parts)
        result |= {k: reply[k] for k in ("api", "notes", "guesses")}
        result["spilled"] = any(p["spilled"] for p in parts)
        result["exact"] = not reply["guesses"]
        results.append(result)
    return results
