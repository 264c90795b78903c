"""Each repository predicted without what was learned from it: leave_out.csv says which passes would not be there and
which constants would have the value that the other sources give. A repository that is not in it taught nothing that
others do not."""

import csv
import math
import pathlib
import statistics

import bars
import column


def left_out(folder, build, rows, results, metric_of, jobs):
    """The results, with those of each repository of the table timed anew."""
    again = {}
    with open(pathlib.Path(__file__).with_name("leave_out.csv"), newline="") as file:
        for rule in csv.DictReader(file):
            own = [r for r in rows if r["repository"] == rule["repository"]]
            options = {"without": rule["without"].split(), "what_if": rule["what_if"].split()}
            replies = column.answers(folder, build, own, options, jobs)
            again |= {r["id"]: r for r in column.compared(own, replies, metric_of)}
    return [again.get(r["id"], r) for r in results]


def band_question(row, results, likeness):
    """What bench/timing_rows is asked for the band of a row that the rows of other repositories give."""
    own = ",".join(r["id"] for r in results if r["repository"] == row["repository"])
    *busy, decades = likeness(row["part"])
    return (f"band target={row['target']} bottleneck={row['predicted_bottleneck']} "
            f"busy={','.join(map(str, busy))} decades={decades} without={own}")


def add_bars(results, without, bar, out, factors):
    """`factors`: of the band of each judged row of `results`, without its repository."""
    rows = bars.judged(without)
    off = [abs(r["error"]) for r in rows]
    bar(f"plain, without its repository: median ({len(rows)} rows)", statistics.median(off), 0.13, out)
    bar("plain, without its repository: mean", statistics.mean(off), 0.22, out)
    rows = bars.judged(results)
    inside = sum(abs(math.log(1 + r["error"])) <= math.log(factor) for r, factor in zip(rows, factors))
    bar("plain: measurement inside the band of other repositories", inside / len(rows), 0.80, out, False)
