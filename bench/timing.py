"""Predicts every kernel of timing_rows.csv with the program timing_rows of a build, and compares. With a folder of
fetched repositories it also times the published sources of the rows, as they are: the plain column."""

import argparse
import csv
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

from timing_examples import example_seconds

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "plain"))

import bars as plain_bars  # noqa: E402
import column  # noqa: E402
import leave_out  # noqa: E402


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
    if metric.startswith("completion-"):  # what is left of the wait for a DMA when an instruction waits for it
        return dma_metric("completion", answer) - float(metric.removeprefix("completion-"))
    if metric == "last_load":  # the end of a load to the product that waits for it, at the full clock
        return answer["load_ns"]
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
        "store_first_byte": lambda: events_on(answer, "transfer")[-1][2] - events_on(answer, "trigger")[-1][2],
        "throughput": lambda: throughput(answer),
        "completion": lambda: events_on(answer, "execute")[0][2] - transfer[3],
    }[metric]()


def throughput(answer):
    """Bytes per ns of equal transfers one after the other, once they are under way."""
    done = events_on(answer, "transfer")[:-1]  # the last one stores
    middle = len(done) // 2
    return (len(done) - 1 - middle) * answer["hbm_read"] / len(done) / (done[-1][3] - done[middle][3])


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
            if row["metric"] == "share":  # of the throughput of the second kernel
                result["predicted_ns"] = throughput(parts[0]) / throughput(parts[1])
            else:
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
    for group, limit, high, share in (("instruction", 0.03, 0.15, 0.95), ("dma", 0.10, 0.40, 1)):
        every = [r for r in results if "error" in r and r["group"] == group]
        word = "worst" if share == 1 else "95th percentile"
        median(f"all {group} rows, median", every, limit)
        bar(f"all {group} rows, {word}", percentile(off(every), share), high, out)
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


def show_rows(results):
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


def show_bars(figures):
    print()
    for f in figures:
        sign = "<=" if f["at_most"] else ">="
        value = "none" if f["value"] is None else f"{f['value']:.3f}"
        print(f"{'met   ' if f['met'] else 'missed'}  {value:>7} {sign} {f['limit']:<5}  {f['name']}")


def likeness(part):
    """What a run looks like, as kiln/timing/band.h has it."""
    total = part["total_ns"]
    shares = [part["lanes"].get(e, {}).get("busy_ns", 0) / total for e in ("tensor", "vector", "scalar")]
    return [*shares, part["dma_busy_ns"] / total, math.log10(total)]


def residuals(args, plain):
    """Rows for kiln/timing/residuals.def: sources whose whole time was measured, one row per kernel and shape,
    reordered and in program order."""
    chosen = {}
    for r in plain_bars.judged(plain):
        if " + " not in r["function"] and r["use"] != "spill" and not r["spilled"]:
            chosen.setdefault((r["repository"], r["path"], r["pick"], r["function"], r["arguments"], r["set"]), r)
    in_order = column.answers(args.sources, pathlib.Path(args.build), list(chosen.values()), {"reorder": False},
                              args.jobs)
    lines = []
    for r in chosen.values():
        body = r["measured_ns"] - (r["predicted_ns"] - r["total_ns"])
        totals = r["total_ns"], in_order[r["id"]]["parts"][0]["total_ns"]
        figures = [f"{total / body:.4f}" for total in totals] + [f"{x:.3f}" for x in likeness(r["part"])]
        lines.append(f'KILN_RESIDUAL("{r["id"]}", {r["target"]}, {r["predicted_bottleneck"]}, {", ".join(figures)})')
    return lines


def update_residuals(args, plain):
    path = ROOT / "kiln" / "timing" / "residuals.def"
    head = [line for line in path.read_text().splitlines() if line.startswith("//")]
    path.write_text("\n".join(head + residuals(args, plain)) + "\n")


def bands_of_others(program, plain):
    """Factors of the bands that judged rows have without the rows of their repository."""
    lines = [leave_out.band_question(r, plain, likeness) for r in plain_bars.judged(plain)]
    done = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [json.loads(line)["factor"] for line in done.stdout.splitlines()]


def plain_results(args, rows, options=None):
    """The plain column: rows whose source is published, timed from the source."""
    rows, options = column.source_rows(rows), options or json.loads(args.options)
    wanted = args.only.split(",") if args.only else [""]
    rows = [r for r in rows if r["id"].startswith(tuple(wanted)) and (args.ratios or r["use"] != "ratio")]
    replies = column.answers(args.sources, pathlib.Path(args.build), rows, options, args.jobs)
    return column.compared(rows, replies, kernel_metric)


def show_plain(results, described):
    """Both columns, row by row, and what each repository comes to."""
    by_id = {r["id"]: r for r in described}
    print(f"\n{'row, source as published':40} {'measured':>10} {'plain':>10} {'error':>7} {'described':>9}  "
          f"{'band':23} bottleneck")
    for r in results:
        if "problem" in r:
            print(f"{r['id']:40} {nanoseconds(r['measured_ns']):>10}  not timed: {r['problem'][:110]}")
            continue
        other = by_id.get(r["id"], {}).get("error")
        described_error = "" if other is None else f"{100 * other:+6.1f}%"
        band = f"{nanoseconds(r['low_ns'])} … {nanoseconds(r['high_ns'])}"
        guess = ("  (with spills)" if r["spilled"] else "") + ("" if r["exact"] else "  (rewrite not exact)")
        print(f"{r['id']:40} {nanoseconds(r['measured_ns']):>10} {nanoseconds(r['predicted_ns']):>10} "
              f"{100 * r['error']:+6.1f}% {described_error:>9}  {band:23} {r['predicted_bottleneck']}{guess}")
    print(f"\n{'repository':40} rows  median    mean   worst")
    for name, group in plain_bars.by_repository(results).items():
        off = [abs(r["error"]) for r in group]
        print(f"{name:40} {len(off):4} {100 * statistics.median(off):6.1f}% {100 * statistics.mean(off):6.1f}% "
              f"{100 * max(off):6.1f}%")
    print(f"\n{'family of variants':48} rows    tau")
    for (name, metric), (tau, count) in plain_bars.families(results, kendall).items():
        print(f"{name + ', ' + metric:48} {count:4} {tau:6.2f}")


def show_changes(before, plain):
    """Published sources whose prediction is another one than in an earlier run."""
    old = {r["id"]: r["predicted_ns"] for r in before.get("plain", []) if "predicted_ns" in r}
    changed = [r for r in plain if "predicted_ns" in r and r["id"] in old and r["predicted_ns"] != old[r["id"]]]
    print(f"\n{len(changed)} of {len(plain)} predictions changed")
    for r in changed:
        was = old[r["id"]] / r["measured_ns"] - 1
        print(f"{r['id']:40} {nanoseconds(old[r['id']]):>10} -> {nanoseconds(r['predicted_ns']):>10}, "
              f"{100 * was:+.1f}% -> {100 * r['error']:+.1f}%")


def main():
    parser = argparse.ArgumentParser(prog="bench/timing", description=__doc__)
    parser.add_argument("--build", default=str(ROOT / "build" / "release"),
                        help="build folder (default: build/release)")
    parser.add_argument("--json", default=str(ROOT / "build" / "bench-timing.json"), help="where the figures go")
    parser.add_argument("--rows-only", action="store_true", help="leave out a long program and the examples")
    parser.add_argument("--update", action="store_true",
                        help="write kiln/timing/residuals.def from this run; needs --sources")
    parser.add_argument("--sources", default=os.environ.get("KILN_SOURCES"), metavar="FOLDER",
                        help="folder of fetched repositories, each as owner+name: git directories or files "
                             "(default: KILN_SOURCES); times the published sources too")
    parser.add_argument("--only", metavar="PREFIXES", help="of the sources, only rows that start so: CS1,FUS-ATT")
    parser.add_argument("--ratios", action="store_true", help="with rows whose ratios only can be trusted")
    parser.add_argument("--options", default="{}", metavar="JSON", help="keywords of kiln.time, for experiments")
    parser.add_argument("--before", metavar="JSON", help="figures of an earlier run: shows which predictions changed")
    parser.add_argument("--jobs", type=int, default=2, help="sources timed at once (default: 2)")
    args = parser.parse_args()
    program = pathlib.Path(args.build) / "bench" / "timing_rows"
    if not program.exists():
        sys.exit(f"{program} does not exist: build the target timing_rows first")
    with open(HERE / "timing_rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    every_row, rows = rows, [r for r in rows if r["kernel"]]  # the others have a source only
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
    plain = plain_results(args, every_row) if args.sources else []
    if plain:
        plain_bars.add_bars(plain, bar, figures, kendall)
        if not args.only:
            rows_of_sources = column.source_rows(every_row)
            wanted = {r["id"] for r in plain}
            folds, without = leave_out.left_out(args.sources, pathlib.Path(args.build),
                                                [r for r in rows_of_sources if r["id"] in wanted], plain, kernel_metric,
                                                args.jobs)
            leave_out.add_bars(plain, without, bar, figures, bands_of_others(program, plain))
    show_rows(results)
    if plain:
        show_plain(plain, results)
        if not args.only:
            leave_out.show(folds, without)
    if plain and args.before:
        show_changes(json.loads(pathlib.Path(args.before).read_text()), plain)
    show_bars(figures)
    out = pathlib.Path(args.json)
    aside = out.with_suffix(".tmp")
    content = {"rows": results, "plain": plain, "bars": figures, "examples": examples}
    aside.write_text(json.dumps(content, indent=1) + "\n")
    aside.replace(out)
    if args.update:
        update_residuals(args, plain)


if __name__ == "__main__":
    main()
