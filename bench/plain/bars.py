"""The figures that the plain column is judged by."""

import statistics

from column import TOTALS

DISPATCH = 0.6  # worst error without rows that measure dispatch


def judged(results):
    """Whole kernels of class A and B whose rewrite is exact, except texts that newer compilers ran twice as fast."""
    return [r for r in results if "error" in r and r["trust"] in "AB" and r["metric"] in TOTALS and r["exact"]
            and r["use"] not in ("old", "ratio")]


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def families(results, kendall):
    """Kendall's tau of the variants of each kernel, over all their rows of one metric, with how many there are."""
    groups = {}
    for r in results:
        if "error" in r and r["family"] and r["metric"] in TOTALS:
            groups.setdefault((r["family"], r["metric"]), []).append((r["predicted_ns"], r["measured_ns"]))
    taus = {k: (kendall(g), len(g)) for k, g in groups.items() if len(g) > 1}
    return {k: v for k, v in taus.items() if v[0] is not None}


def half_width(r):
    return (r["high_ns"] - r["low_ns"]) / 2 / r["predicted_ns"]


def by_repository(results):
    groups = {}
    for r in judged(results):
        groups.setdefault(r["repository"], []).append(r)
    return groups


def add_bars(results, bar, out, kendall):
    rows = judged(results)
    off = [abs(r["error"]) for r in rows]
    bar(f"plain: kernels, median ({len(rows)} rows)", statistics.median(off), 0.09, out)
    bar("plain: kernels, mean", statistics.mean(off), 0.16, out)
    bar("plain: kernels, 90th percentile", percentile(off, 0.9), 0.35, out)
    bar("plain: kernels, worst", max(off), DISPATCH, out)
    inside = sum(r["low_ns"] <= r["measured_ns"] <= r["high_ns"] for r in rows)
    bar("plain: measurement inside the band", inside / len(rows), 0.80, out, False)
    bar("plain: half-width of the band, median", statistics.median(half_width(r) for r in rows), 0.30, out)
    taus = families(results, kendall)
    if taus:
        bar(f"plain: Kendall tau, mean ({len(taus)} families)", statistics.mean(t for t, _ in taus.values()), 0.8, out,
            False)
        large = {k: t for k, (t, n) in taus.items() if n >= 4}
        if large:
            worst = min(large, key=large.get)
            bar(f"plain: Kendall tau, worst of {len(large)} families of 4 or more ({worst[0]})", large[worst], 0.4,
                out, False)
    named = [r for r in rows if r["bottleneck"]]
    if named:
        right = sum(r["bottleneck"] == r["predicted_bottleneck"] for r in named)
        bar(f"plain: bottleneck right ({len(named)} rows)", right / len(named), 0.90, out, False)
    slowest = max(rows, key=lambda r: r["seconds"])
    bar(f"plain: slowest, seconds of processor time ({slowest['id']})", slowest["seconds"], 1.0, out)
