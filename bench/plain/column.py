"""The plain column of bench/timing: published sources, timed as they are. rows.csv says which source a measured row is
of; what was measured stands in ../timing_rows.csv."""

import concurrent.futures
import csv
import json
import os
import pathlib
import subprocess
import sys

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
    first = _distinct(rows)
    requests = [json.dumps(r | {"options": options}) for r in first.values()]
    shares = [requests[i::jobs] for i in range(jobs)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        done = [a for part in pool.map(lambda share: _work(folder, build, share), shares) for a in part]
    by_id = {a["id"]: a for a in done}
    return {r["id"]: by_id[first[_program(r)]["id"]] for r in rows}


def _work(folder, build, requests):
    environment = os.environ | {"PYTHONPATH": str(build / "python")}
    done = subprocess.run([sys.executable, HERE / "worker.py", folder], input="\n".join(requests), text=True,
                          capture_output=True, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


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
        result["predicted_ns"] = sum(metric_of(row["metric"], p) for p in parts)
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
