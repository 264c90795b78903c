"""Measures Kiln beside its peers in one process, prints a table and writes build/bench.json.

Rounds are interleaved: in each, the peer, Kiln, and Kiln with its checks compiled out work on the same arrays. A figure
is the ratio of the best times, because what else a machine does only ever adds to a time. docs/benchmarks.md says what
the figures mean.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from figures import THREADS, Figures, milliseconds, ratio, take_turns

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ["OPENBLAS_NUM_THREADS"] = str(THREADS)  # read when NumPy is imported

import numpy as np  # noqa: E402

import cases  # noqa: E402
import python_bars  # noqa: E402
from library import Library  # noqa: E402

CHECKS_LIMIT = 2.0  # time with checks, in times of the run without
NAN_LIMIT = 1.1  # time of a run that looks for the first NaN, in times of one that does not
SMALL_LIMIT = 1_000_000  # instructions per second
LIBRARY = pathlib.Path("bench", "libkiln_bench.so")


def options():
    parser = argparse.ArgumentParser(prog="bench/run", description="Measures Kiln beside NumPy and OpenBLAS.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="build to measure")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build" / "bench.json", help="where figures go")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each program")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="programs to measure")
    parser.add_argument("--quick", action="store_true", help="small arrays, one round, no build without checks")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a limit is missed")
    chosen = parser.parse_args()
    own = ["small_instructions", "threads", "instructions"]
    names = [*(case.name for case in cases.CASES), *own, *python_bars.FIGURES]
    if unknown := [name for name in chosen.only or () if name not in names]:
        parser.error(f"there is no {', '.join(unknown)}; programs are {', '.join(names)}")
    return chosen


def build_without_checks():
    """The same library with the run-time checks compiled out."""
    build = ROOT / "build" / "bench-nochecks"
    configure = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    switches = [f"-DKILN_{part}=OFF" for part in ("CHECKS", "TESTS", "EXAMPLES", "PYTHON_MODULE")]
    for command in [configure + switches, ["cmake", "--build", build, "--target", "kiln_bench"]]:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return build / LIBRARY


def measure(case, with_checks, without_checks, size, rounds, figures):
    rng = np.random.default_rng(1)
    rows, columns = size
    inputs = [rng.standard_normal((rows, columns), dtype=np.float32) for _ in range(case.inputs)]
    ours_inputs = [np.ascontiguousarray(x.astype(case.dtype)) for x in inputs]
    result_shape = (rows, case.columns or columns)
    libraries = [library for library in (with_checks, without_checks) if library]
    try:
        programs = [library.program(case.name, rows, columns) for library in libraries]
    except RuntimeError as error:
        figures.add(case.name, None, case.limit, "ratio", str(error).splitlines()[0])
        return

    def ours(program, looks_for_nan=True):  # makes its result, as the peer does
        out = np.empty(result_shape, np.float32)
        program([*ours_inputs, out], THREADS, looks_for_nan)
        return out

    expected = case.peer(*inputs)
    for program in programs:
        difference = np.abs(ours(program) - expected).max() / np.abs(expected).max()
        assert difference <= case.tolerance, f"{case.name} differs by {difference:.1e}"
    calls = [lambda: case.peer(*inputs), lambda: ours(programs[0], looks_for_nan=False),
             *(lambda p=program: ours(p) for program in programs)]
    peer, without_nan, checked, *unchecked = take_turns(calls, rounds)
    note = f"Kiln {milliseconds(checked)}, {case.peer_name} {milliseconds(peer)}"
    figures.add(case.name, ratio(checked, peer), case.limit, "ratio",
                f"{note}, check {programs[0].check_seconds * 1e3:.2f} ms")
    figures.add(f"nan_cost.{case.name}", ratio(checked, without_nan), NAN_LIMIT, "ratio",
                f"with {milliseconds(checked)}, without {milliseconds(without_nan)}")
    for plain in unchecked:
        whole = [t + programs[0].check_seconds for t in checked]
        figures.add(f"checks_cost.{case.name}", ratio(whole, plain), CHECKS_LIMIT, "ratio",
                    f"with {milliseconds(whole)}, without {milliseconds(plain)}")
    for program in programs:
        program.close()


def measure_small(with_checks, without_checks, count, rounds, figures):
    checked, without_nan, unchecked = [], [], []
    for library in filter(None, (with_checks, without_checks)):
        library.small_instructions(count // 10)
    for _ in range(rounds):
        checked.append(with_checks.small_instructions(count))
        without_nan.append(with_checks.small_instructions(count, looks_for_nan=False))
        if without_checks:
            unchecked.append(without_checks.small_instructions(count))
    parts = [statistics.median(part) / count * 1e9 for part in zip(*checked)]
    figures.add("small_instructions", statistics.median(count / sum(t) for t in checked), SMALL_LIMIT,
                "instructions/s", "build {:.0f}, check {:.0f}, run {:.0f} ns each, one thread".format(*parts))
    whole = [sum(t) for t in checked]
    plain = [sum(t) for t in without_nan]
    figures.add("nan_cost.small_instructions", ratio(whole, plain), NAN_LIMIT, "ratio",
                f"with {milliseconds(whole)}, without {milliseconds(plain)}")
    if unchecked:
        plain = [build + run for build, _, run in unchecked]
        figures.add("checks_cost.small_instructions", ratio(whole, plain), CHECKS_LIMIT, "ratio",
                    f"with {milliseconds(whole)}, without {milliseconds(plain)}")


def measure_instructions(chosen, figures):
    """bench/speed/instructions, in a process of its own: its NumPy has one thread."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "rows.json")
        script = ROOT / "bench" / "speed" / "instructions.py"
        command = [sys.executable, script, "--build", chosen.build, "--json", output]
        subprocess.run(command + ["--quick"] * chosen.quick, check=True, stdout=subprocess.DEVNULL)
        rows = json.loads(output.read_text())
    worst = max(rows, key=lambda r: r["ratio"])
    mean = statistics.geometric_mean(r["ratio"] for r in rows)
    figures.add("instructions.mean", mean, 0.9, "ratio", f"{len(rows)} cases, one thread")
    figures.add("instructions.worst", worst["ratio"], 3.0, "ratio", worst["name"])
    times = {row["name"]: row["ns"] for row in rows}
    mx, dense = (times[f"{name}.bfloat16.dense"] for name in ("nc_matmul_mx", "nc_matmul"))
    figures.add("instructions.mx_rate", 4 * dense / mx, 0.6, "gain", "nc_matmul_mx, 4 x the products of nc_matmul")


def measure_threads(library, chosen, figures):
    """What the second thread brings, beside what it brings to copying: memory is the same for all."""
    side = 256 if chosen.quick else 4096
    x = np.random.default_rng(1).standard_normal((side, side), dtype=np.float32)
    out = np.empty_like(x)
    program = library.program("softmax", side, side)
    halves = [(out[:side // 2], x[:side // 2]), (out[side // 2:], x[side // 2:])]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        calls = [lambda: program([x, out], 1), lambda: program([x, out], 2), lambda: np.copyto(out, x),
                 lambda: list(pool.map(lambda pair: np.copyto(*pair), halves))]
        for call in calls:
            call()
        one, two, copy, copies = take_turns(calls, chosen.rounds)
    program.close()
    figures.add("threads.softmax", min(one) / min(two), 1.6, "gain",
                f"one {milliseconds(one)}, two {milliseconds(two)}; of copying {min(copy) / min(copies):.2f}")


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".part")
    kept = ("name", "value", "limit", "unit")
    aside.write_text(json.dumps([{key: row[key] for key in kept} for row in rows], indent=1) + "\n")
    aside.replace(path)


def main():
    chosen = options()
    if chosen.quick:
        chosen.rounds = 1
    with_checks = Library(chosen.build / LIBRARY)
    without_checks = None if chosen.quick else Library(build_without_checks())
    print(f"{THREADS} threads, NumPy {np.__version__}, {chosen.rounds} rounds")
    figures = Figures()
    for case in cases.CASES:
        if chosen.only and case.name not in chosen.only:
            continue
        side = 256 if chosen.quick else 1024 if case.square else 4096
        measure(case, with_checks, without_checks, (side, side), chosen.rounds, figures)
    if not chosen.only or "small_instructions" in chosen.only:
        measure_small(with_checks, without_checks, 2_000 if chosen.quick else 200_000, chosen.rounds, figures)
    if not chosen.only or "threads" in chosen.only:
        measure_threads(with_checks, chosen, figures)
    python_bars.measure_all(chosen, figures)
    if not chosen.only or "instructions" in chosen.only:
        measure_instructions(chosen, figures)
    write(chosen.output, figures.rows)
    missed = figures.missed()
    print(f"misses: {', '.join(missed)}" if missed else "meets every limit")
    return 1 if chosen.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
