"""Each repository predicted without what was learned from it: leave_out.csv says which passes would not be there, and
the constants that were fitted on kernels are fitted on those of the other repositories (refit.py)."""

import csv
import math
import pathlib
import statistics

import bars
import column
import refit


def taught():
    """Passes of the vendor's compiler that one repository alone has shown."""
    with open(pathlib.Path(__file__).with_name("leave_out.csv"), newline="") as file:
        return {r["repository"]: r["without"].split() for r in csv.DictReader(file)}


def left_out(folder, build, rows, results, metric_of, jobs):
    """The folds with the constants that others give, and the judged results as they predict them."""
    judged = bars.judged(results)
    ids = {r["id"] for r in judged}
    rows = [r for r in rows if r["id"] in ids]
    folds = refit.folds_of(rows, taught())
    own = [(f, r) for f in folds for r in rows if f.owns(r)]
    with column.Workers(folder, build, jobs) as workers:
        model = refit.Model(workers.variants, metric_of)
        refit.refit(folds, rows, model)
        model.ask([(r, f.setting()) for f, r in own])
    errors = {r["id"]: model.error(r, f.setting()) for f, r in own}
    return folds, [r | {"error": errors[r["id"]]} for r in judged]


def band_question(row, results, likeness):
    """What bench/timing_rows is asked for the band of a row that the rows of other repositories give."""
    own = ",".join(r["id"] for r in results if r["repository"] == row["repository"])
    *busy, decades = likeness(row["part"])
    return (f"band target={row['target']} bottleneck={row['predicted_bottleneck']} "
            f"busy={','.join(map(str, busy))} decades={decades} without={own}")


def show(folds, without):
    """What the other repositories give, and how far off they leave each one."""
    print(f"\n{'repository, predicted by the others':40} rows  median    mean  constants that the others give")
    for fold in folds:
        off = [abs(r["error"]) for r in without if fold.owns(r)]
        values = [f"without {', '.join(fold.without)}"] if fold.without else []
        values += [f"{k} {v}" for k, v in fold.values.items()]
        print(f"{fold.repository + ', ' + fold.target:40} {len(off):4} {100 * statistics.median(off):6.1f}% "
              f"{100 * statistics.mean(off):6.1f}%  {', '.join(values)}")


def add_bars(results, without, bar, out, factors):
    """`factors`: of the band of each judged row of `results`, without its repository."""
    off = [abs(r["error"]) for r in without]
    bar(f"plain, without its repository: median ({len(without)} rows)", statistics.median(off), 0.13, out)
    bar("plain, without its repository: mean", statistics.mean(off), 0.22, out)
    rows = bars.judged(results)
    inside = sum(abs(math.log(1 + r["error"])) <= math.log(factor) for r, factor in zip(without, factors))
    bar("plain: measurement inside the band of other repositories", inside / len(rows), 0.80, out, False)
