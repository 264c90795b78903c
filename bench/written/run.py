"""Programs as NumPy users write them, through kiln.jit: predicted time over the roofline, bytes moved over those that
must be, instructions, and the processor time of tracing and compiling."""

import argparse
import json
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = sys.argv[sys.argv.index("--build") + 1] if "--build" in sys.argv else ROOT / "build" / "release"
sys.path.insert(0, str(pathlib.Path(BUILD) / "python"))  # before kiln is imported

import blocks  # noqa: E402,F401 (fills the table)
import gradients  # noqa: E402,F401
import images  # noqa: E402,F401
import lookups  # noqa: E402,F401
import ml_dtypes  # noqa: E402
import numerics  # noqa: E402,F401
import numpy as np  # noqa: E402
import science  # noqa: E402,F401
import training  # noqa: E402,F401
import transformers  # noqa: E402,F401
from program import BOTH, PROGRAMS  # noqa: E402

import kiln  # noqa: E402
from kiln.numpy import _lowered  # noqa: E402

TOLERANCE = {"bfloat16": 6e-2, "float32": 2e-4}  # of the largest value
TRIES = 3


def compiled(program, dtype, target):
    """The row of a program: the best of a few compiles, each of which begins with nothing."""
    specs = [f"{t}[{','.join(map(str, shape))}]" for t, shape in program.specs(dtype)]
    seconds = []
    for _ in range(TRIES):
        _lowered._compiled.clear()
        start = time.process_time()
        lowered = kiln.jit(program.function).lower(*specs, target=target)
        lowered.model  # noqa: B018 (compiles)
        seconds.append(time.process_time() - start)
    report = lowered.report()
    return {"name": f"{program.name} {dtype}", "ratio": report["time_ns"] / report["roofline_ns"],
            "us": report["time_ns"] / 1e3, "roofline_us": report["roofline_ns"] / 1e3,
            "bytes": report["bytes_moved"] / max(1, report["bytes_compulsory"]),
            "static": report["instructions_static"], "compile_ms": min(seconds) * 1e3}


def arrays_of(program, dtype, rng):
    """Inputs: integers are indices below 10, which every program has; masks and all else are normal numbers."""
    for t, shape in program.specs(dtype):
        if t.startswith(("int", "uint")):
            yield rng.integers(0, 10, shape).astype(t)
        else:
            values = rng.standard_normal(shape, dtype=np.float32) / max(1.0, shape[-1] ** 0.5 / 8)
            yield values.astype(ml_dtypes.bfloat16 if t == "bfloat16" else t)


def flat(result):
    return [np.asarray(r) for r in (result if isinstance(result, (tuple, list)) else [result])]


def at_places(x, places):
    """What x has at places along its columns, where there is one for each of them, or else along its rows."""
    if places.shape == x.shape[1:]:
        return np.take_along_axis(x, places[None].astype(np.int64), 0)
    return np.take_along_axis(x, places.reshape(len(x), -1).astype(np.int64), 1)


def difference(program, dtype, seed=1):
    """Of the simulated results from NumPy's of the same inputs in float64, over the largest value; of indices, how
    many point at other values."""
    arrays = list(arrays_of(program, dtype, np.random.default_rng(seed)))
    got = flat(kiln.jit(program.function)(*arrays))
    with np.errstate(all="ignore"):
        wide = [a if a.dtype.kind in "iu" else a.astype(np.float64) for a in arrays]
        want = flat(program.function(*wide))
    worst = 0.0
    for g, w in zip(got, want, strict=True):
        rows, columns = wide[0].shape[:1], wide[0].shape[1:]
        if w.dtype == np.int64 and (w.shape == columns or w.shape[:1] == rows):  # places in the first input
            worst = max(worst, float((at_places(wide[0], g) != at_places(wide[0], w)).mean()))
        else:
            worst = max(worst, float(np.abs(g.astype(np.float64) - w).max() / np.abs(w).max()))
    return worst


def shown(row, before):
    line = (f"{row['ratio']:7.2f} {row['us']:9.1f} {row['roofline_us']:9.1f} {row['bytes']:6.2f} {row['static']:6d} "
            f"{row['compile_ms']:8.1f}")
    if "difference" in row:
        line += f" {row['difference']:9.1e}"
    if before is not None:
        line += f" {row['us'] / before[row['name']]['us']:7.3f}" if row["name"] in before else "       -"
    return f"{line}  {row['name']}"


def arguments():
    parser = argparse.ArgumentParser(prog="bench/compile --written", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names; all programs when none is given")
    parser.add_argument("--build", metavar="FOLDER", help="of the package, build/release when not given")
    parser.add_argument("--target", default="trn2", choices=["trn1", "trn2", "trn3"])
    parser.add_argument("--dtype", choices=BOTH)
    parser.add_argument("--values", action="store_true", help="run each in the simulator too, beside NumPy in float64")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the rows")
    parser.add_argument("--before", type=pathlib.Path, metavar="FILE", help="rows of another run, set beside")
    return parser.parse_args()


def main():
    options = arguments()
    before = {r["name"]: r for r in json.loads(options.before.read_text())} if options.before else None
    chosen = [(p, t) for t in BOTH for p in PROGRAMS if t in p.dtypes and options.dtype in (None, t)
              and (not options.names or any(n in f"{p.name} {t}" for n in options.names))]
    if not chosen:
        sys.exit(f"no program's name contains {' or '.join(options.names)}")
    print(f"{'ratio':>7} {'us':>9} {'roofline':>9} {'bytes':>6} {'static':>6} {'compile':>8}"
          f"{' difference' if options.values else ''}{' /before' if before else ''}  program, {options.target}")
    rows, wrong = [], []
    for program, dtype in chosen:
        row = compiled(program, dtype, options.target)
        if options.values:
            row["difference"] = difference(program, dtype)
            if not row["difference"] <= TOLERANCE[dtype]:
                wrong.append(row["name"])
        rows.append(row)
        print(shown(row, before), flush=True)
    mean = float(np.exp(np.mean([np.log(r["ratio"]) for r in rows])))
    print(f"{mean:7.2f} geometric mean of {len(rows)}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return f"wrong values: {', '.join(wrong)}" if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
