"""Predicts every kernel of timing_rows.csv with the program timing_rows of a build, and compares."""

import argparse
import csv
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys

from timing_examples import example_seconds

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


def known_rows():
    """Ids that kiln/timing/residuals.def holds."""
    text = (ROOT / "kiln" / "timing" / "residuals.def").read_text()
    return set(re.findall(r'KILN_RESIDUAL\("([^"]+)"', text))


def predict(program, kernels, rows):
    """What the model says about each kernel, by its text. A kernel's band comes from the other kernels' rows."""
    known = known_rows()
    own = {r["kernel"]: r["id"] for r in rows if r["id"] in known}
    lines = "".join(f"{k} without={own.get(k, '-')}\n" for k in kernels)
    answers = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    return dict(zip(kernels, (json.loads(line) for line in answers.stdout.splitlines())))


def events_on(answer, kind):
    return [e for e in answer["events"] if e[1] == kind]


def duration(event):
    return event[3] - event[2]


def instruction_metric(metric, answer):
    """Duration or distance of the instructions of a micro-kernel; the last ones are steady."""
    done = events_on(answer, "execute")
    if metric == "duration":
        return duration(done[-1])
    if metric == "cold_duration":
        return duration(done[0])
    if metric == "interval":
        return done[-1][2] - done[-2][2]
    if metric == "half_interval":  # float32: two matmuls on the device
        return (done[-1][2] - done[-2][2]) / 2
    if metric == "part":
        return duration(done[-1]) - (done[-1][2] - done[-2][2]) / 2
    if metric == "table":
        return done[0][2]
    if metric == "load":  # the first matmul waits for its stationary operand, at the lower clock
        return done[0][2] - answer["cold_load_ns"]
    if metric == "hand_over":
        return hand_over(answer)
    raise ValueError(metric)


def hand_over(answer):
    events = answer["events"]
    producer = events[0]
    consumer = next(e for e in events[1:] if e[1] != "transfer")
    start = consumer[2]
    if consumer[0] == "tensor":  # the wait is in front of the load
        start -= answer["load_ns"] + answer["cold_load_ns"]
    return start - producer[3]


def dma_metric(metric, answer):
    trigger, transfer = events_on(answer, "trigger")[0], events_on(answer, "transfer")[0]
    return {
        "trigger": lambda: duration(trigger),
        "first_byte": lambda: transfer[2] - trigger[2],
        "transfer": lambda: duration(transfer),
        "store": lambda: duration(events_on(answer, "transfer")[-1]),
        "completion": lambda: events_on(answer, "execute")[0][2] - transfer[3],
    }[metric]()


def kernel_metric(metric, answer):
    if metric.startswith("active:"):
        return answer["lanes"][metric.split(":")[1]]["active_ns"]
    key = {"body": "total_ns", "profiler": "profiler_ns", "benchmark": "benchmark_ns", "dma_active": "dma_busy_ns"}
    return answer[key[metric]]


METRICS = {"instruction": instruction_metric, "dma": dma_metric, "kernel": kernel_metric}


def compare(rows, answers):
    results = []
    for row in rows:
        parts = [answers[k.strip()] for k in row["kernel"].split(" + ")]
        errors = [p["error"] for p in parts if "error" in p]
        result = dict(row, measured_ns=float(row["measured_ns"]))
        if errors:
            result["problem"] = errors[0].splitlines()[0]
        else:
            group = "dma" if row["group"] == "dma" and row["metric"] != "duration" else row["group"]
            group = "instruction" if row["metric"] == "duration" else group
            result["predicted_ns"] = sum(METRICS[group](row["metric"], p) for p in parts)
            result["error"] = result["predicted_ns"] / result["measured_ns"] - 1
            added = result["predicted_ns"] - sum(p["total_ns"] for p in parts)
            result["low_ns"] = sum(p["low_ns"] for p in parts) + added
            result["high_ns"] = sum(p["high_ns"] for p in parts) + added
            result["predicted_bottleneck"] = max(parts, key=lambda p: p["total_ns"])["bottleneck"]
            result["seconds"] = sum(p["seconds"] for p in parts)
        results.append(result)
    return results


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


def kendall(pairs):
    """Share of pairs in the right order minus share in the wrong one. Pairs measured within 1 % of each other do not
    count: runs of one program differ by as much."""
    agree = total = 0
    for i, (a, b) in enumerate(pairs):
        for c, d in pairs[:i]:
            if abs(b - d) <= 0.01 * max(b, d):
                continue
            total += 1
            agree += (a > c) - (a < c) if b > d else (a < c) - (a > c)
    return agree / total if total else None


PRODUCTS = ("grouped", "hoisted", "blocked", "library", "searched")


def families(results):
    """Variants of one kernel on one problem: rows that differ in how, not in what."""
    groups = {}
    for r in results:
        words = r["kernel"].split()
        size = " ".join(w for w in words if w.split("=")[0] in ("m", "k", "n", "seq", "dtype", "channels", "target"))
        family = "matmul" if words[0] in PRODUCTS else words[0].split("_")[0]
        groups.setdefault((family, r["metric"], size), []).append((r["predicted_ns"], r["measured_ns"]))
    return [g for g in groups.values() if len(g) > 1]


def bar(name, value, limit, results, at_most=True):
    met = None if value is None else value <= limit if at_most else value >= limit
    results.append({"name": name, "value": value, "limit": limit, "at_most": at_most, "met": met})


def bars(results):
    """The figures that the model is judged by: rows of class A that no constant was fitted to."""
    ok = [r for r in results if "error" in r and r["trust"] == "A"]
    free = [r for r in ok if r["use"] == "check"]
    out = []

    def off(rows):
        return [abs(r["error"]) for r in rows]

    def pick(**want):
        return [r for r in free if all(r[k] == v for k, v in want.items())]

    def median(name, rows, limit):
        bar(name + f" ({len(rows)} rows)", statistics.median(off(rows)) if rows else None, limit, out)

    instructions = pick(group="instruction", target="trn2")
    median("trn2 instructions, median", instructions, 0.05)
    bar("trn2 instructions, 95th percentile", percentile(off(instructions), 0.95), 0.15, out)
    median("trn2 fixed DMA latencies, median", pick(group="dma", target="trn2"), 0.15)
    totals = [r for r in free if r["group"] == "kernel" and r["metric"] in ("body", "profiler", "benchmark")]
    trn2 = [r for r in totals if r["target"] == "trn2"]
    median("trn2 kernels bound by the tensor engine, median",
           [r for r in trn2 if r["predicted_bottleneck"] == "tensor"], 0.07)
    median("trn2 small kernel bodies, median",
           [r for r in trn2 if r["metric"] == "body" and r["measured_ns"] < 120e3], 0.10)
    median("trn2 kernels bound by DMA, median", [r for r in trn2 if r["predicted_bottleneck"] == "dma"], 0.15)
    median("trn1 kernels, median", [r for r in totals if r["target"] == "trn1"], 0.20)
    median("trn1 kernels that spill, median", [r for r in ok if r["use"] == "spill"], 0.20)
    median("trn3 rows, median", pick(target="trn3"), 0.25)
    everything = [r for r in ok if r["group"] == "kernel" and r["metric"] in ("body", "profiler", "benchmark")]
    bar(f"class A kernels, mean ({len(everything)} rows)", statistics.mean(off(everything)), 0.12, out)
    bar("class A kernels, worst", max(off(everything)), 0.35, out)
    newer = [r for r in everything if r["use"] not in ("old", "spill")]
    bar("class A kernels, worst, without old and spilling ones", max(off(newer)), 0.35, out)
    taus = [kendall(g) for g in families(everything)]
    taus = [t for t in taus if t is not None]
    bar(f"Kendall tau, mean ({len(taus)} families)", statistics.mean(taus) if taus else None, 0.85, out, False)
    named = [r for r in everything if r["bottleneck"]]
    right = sum(r["bottleneck"] == r["predicted_bottleneck"] for r in named)
    bar(f"bottleneck right ({len(named)} rows)", right / len(named) if named else None, 0.90, out, False)
    inside = sum(r["low_ns"] <= r["measured_ns"] <= r["high_ns"] for r in everything)
    bar("measurement inside the band", inside / len(everything), 0.80, out, False)
    slowest = max(results, key=lambda r: r.get("seconds", 0))
    bar("slowest prediction, seconds of processor time", slowest.get("seconds", 0), 1.0, out)
    return out


def nanoseconds(value):
    for unit, scale in (("ms", 1e6), ("us", 1e3)):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value:.4g} ns"


def show(results, figures):
    print(f"{'row':36} {'use':5} {'measured':>10} {'predicted':>10} {'error':>7}  {'band':23} bottleneck")
    for r in results:
        if "problem" in r:
            print(f"{r['id']:36} {r['use']:5} {nanoseconds(r['measured_ns']):>10}  not predicted: {r['problem']}")
            continue
        band = f"{nanoseconds(r['low_ns'])} … {nanoseconds(r['high_ns'])}" if r["group"] == "kernel" else ""
        bottleneck = r["predicted_bottleneck"] if r["group"] == "kernel" else ""
        print(
            f"{r['id']:36} {r['use']:5} {nanoseconds(r['measured_ns']):>10} {nanoseconds(r['predicted_ns']):>10} "
            f"{100 * r['error']:+6.1f}%  {band:23} {bottleneck}"
        )
    print()
    for f in figures:
        sign = "<=" if f["at_most"] else ">="
        value = "none" if f["value"] is None else f"{f['value']:.3f}"
        print(f"{'met   ' if f['met'] else 'missed'}  {value:>7} {sign} {f['limit']:<5}  {f['name']}")


def in_both_orders(program, kernels):
    """What the model says of each kernel, reordered and in program order."""
    plain = [k.replace(" reorder=1", "") for k in kernels]
    answers = [predict(program, list(dict.fromkeys(texts)), []) for texts in ([k + " reorder=1" for k in plain], plain)]
    return {k: (answers[0][p + " reorder=1"]["total_ns"], answers[1][p]["total_ns"]) for k, p in zip(kernels, plain)}


def residuals(program, results):
    """Rows for kiln/timing/residuals.def: kernels whose whole time was measured, one row per kernel and shape."""
    chosen = {}
    for r in results:
        if "error" not in r or r["group"] != "kernel" or r["trust"] != "A" or r["use"] == "old":
            continue
        if r["metric"] in ("body", "profiler", "benchmark") and " + " not in r["kernel"]:
            chosen.setdefault(r["kernel"], r)
    lines = []
    for kernel, totals in in_both_orders(program, list(chosen)).items():
        r = chosen[kernel]
        body = r["measured_ns"] - (r["predicted_ns"] - r["total_ns"])
        ratios = ", ".join(f"{total / body:.4f}" for total in totals)
        lines.append(f'KILN_RESIDUAL("{r["id"]}", {r["target"]}, {r["predicted_bottleneck"]}, {ratios})')
    return lines


def update_residuals(program, results):
    path = ROOT / "kiln" / "timing" / "residuals.def"
    head = [line for line in path.read_text().splitlines() if line.startswith("//")]
    path.write_text("\n".join(head + residuals(program, results)) + "\n")


def main():
    parser = argparse.ArgumentParser(prog="bench/timing", description=__doc__)
    parser.add_argument("--build", default=str(ROOT / "build" / "release"),
                        help="build folder (default: build/release)")
    parser.add_argument("--json", default=str(ROOT / "build" / "bench-timing.json"), help="where the figures go")
    parser.add_argument("--rows-only", action="store_true", help="leave out a long program and the examples")
    parser.add_argument("--update", action="store_true", help="write kiln/timing/residuals.def from this run")
    args = parser.parse_args()
    program = pathlib.Path(args.build) / "bench" / "timing_rows"
    if not program.exists():
        sys.exit(f"{program} does not exist: build the target timing_rows first")
    with open(HERE / "timing_rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    kernels = list(dict.fromkeys(k.strip() for r in rows for k in r["kernel"].split(" + ")))
    answers = predict(program, kernels, rows)
    results = compare(rows, answers)
    for r in results:
        r["total_ns"] = sum(answers[k.strip()].get("total_ns", 0) for k in r["kernel"].split(" + "))
    figures = bars(results)
    if not args.rows_only:
        text = "written_out count=200000"
        seconds = predict(program, [text], [])[text]["seconds"]
        bar("1,000,000 instructions written out, seconds of processor time", seconds, 2.0, figures)
    examples = {} if args.rows_only else example_seconds(pathlib.Path(args.build))
    if examples:
        slowest = max(examples, key=examples.get)
        name = f"slowest of {len(examples)} examples ({slowest}), seconds of processor time"
        bar(name, examples[slowest], 1.0, figures)
    show(results, figures)
    out = pathlib.Path(args.json)
    aside = out.with_suffix(".tmp")
    aside.write_text(json.dumps({"rows": results, "bars": figures, "examples": examples}, indent=1) + "\n")
    aside.replace(out)
    if args.update:
        update_residuals(program, results)


if __name__ == "__main__":
    main()
