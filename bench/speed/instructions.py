"""How fast the simulator runs each instruction, beside the line of NumPy that says the same.

One thread, processor time, Kiln and NumPy in turns; the best of the rounds counts. A program with many passes of the
instruction is run, and one with a single pass; the difference is theirs. docs/benchmarks.md says what the figures mean.
"""

import argparse
import json
import math
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
for name in ("OPENBLAS_NUM_THREADS", "KILN_THREADS"):
    os.environ[name] = "1"  # read when NumPy is imported

import instruction_cases as cases  # noqa: E402
import instruction_kernel as kernel  # noqa: E402
import numpy as np  # noqa: E402
import wide_cases  # noqa: E402

LIMIT, MEAN_LIMIT, ELEMENT_LIMIT = 3.0, 0.9, 25.0  # times of NumPy; their geometric mean; ns per element


def options():
    parser = argparse.ArgumentParser(prog="bench/speed/instructions", description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="build to measure")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases whose names begin so")
    parser.add_argument("--wide", action="store_true", help="other shapes, dtypes and operators instead")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="one round of few passes: shows that all of it works")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a limit is missed")
    parser.add_argument("--sort", action="store_true", help="the slowest first, when all are there")
    parser.add_argument("--json", type=pathlib.Path, help="a file for the figures")
    return parser.parse_args()


def seconds(call):
    start = time.process_time()
    call()
    return time.process_time() - start


class Runner:
    """Runs programs on arrays that it makes once."""

    def __init__(self, programs, arrays):
        inputs = [t["name"] for t in programs[0].tensors if t["role"] == "input"]
        self.programs, self.memory = programs, {n: np.ascontiguousarray(a) for n, a in zip(inputs, arrays)}
        self.memory["done"] = np.zeros(1, np.float32)
        self.memory = {n: a.reshape(-1).view(np.uint8) for n, a in self.memory.items()}
        names = {t["name"] for t in programs[0].tensors if t["role"] == "output"}
        output, = names
        self.memory[output] = self.memory.pop("done")

    def __call__(self):
        from kiln import _kiln

        _kiln.run(self.programs, [self.memory], threads=1, nan="off")


def measure(case, chosen):
    """Nanoseconds per instruction of Kiln and of NumPy."""
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = case.target
    arrays = kernel.arrays_of(case)
    passes = 2 if chosen.quick else kernel.passes_of(case)
    many, one = (Runner(kernel.program_of(case, arrays, n), arrays) for n in (passes, 0))
    given = kernel.peer_arrays(case, arrays)

    def peer():
        for _ in range(passes):
            case.peer(*given)

    best = [math.inf] * 3
    for turn in range(1 if chosen.quick else chosen.rounds + 1):
        for which, call in enumerate((many, one, peer)):
            took = seconds(call)
            if turn or chosen.quick:  # the first fills caches
                best[which] = min(best[which], took)
    return max(best[0] - best[1], 1e-9) / passes * 1e9, max(best[2], 1e-9) / passes * 1e9


def row(case, ours, theirs):
    elements = max(math.prod(shape) for shape in (case.loads or (case.layout.shape(),)))
    element_ns = ours / elements
    small = case.one_per_row or elements <= 128
    meets = ours / theirs <= LIMIT and (small or element_ns <= ELEMENT_LIMIT)
    return {"name": case.name, "ratio": ours / theirs, "ns": ours, "numpy_ns": theirs, "ns_per_element": element_ns,
            "meets": meets}


def show(figures):
    note = "" if figures["meets"] else "MISSES"
    print(f"{figures['name']:48} {figures['ratio']:8.2f} {figures['ns'] / 1e3:10.2f} {figures['numpy_ns'] / 1e3:10.2f} "
          f"{figures['ns_per_element']:8.3f}  {note}".rstrip(), flush=True)


def main():
    chosen = options()
    sys.path[:0] = [str(chosen.build / "python")]
    import kiln

    kiln.activate(force=True)
    all_cases = wide_cases.CASES if chosen.wide else cases.CASES
    wanted = [c for c in all_cases if not chosen.only or any(c.name.startswith(n) for n in chosen.only)]
    if not wanted:
        sys.exit(f"no case begins with {' or '.join(chosen.only)}")
    print(f"{'instruction':48} {'times':>8} {'Kiln us':>10} {'NumPy us':>10} {'ns/elem':>8}")
    rows = []
    for case in wanted:
        rows.append(row(case, *measure(case, chosen)))
        show(rows[-1])
    if chosen.sort:
        print()
        for figures in sorted(rows, key=lambda r: -r["ratio"]):
            show(figures)
    mean = math.exp(sum(math.log(r["ratio"]) for r in rows) / len(rows))
    missed = [r["name"] for r in rows if not r["meets"]]
    print(f"{len(rows)} cases, geometric mean {mean:.2f} (limit {MEAN_LIMIT}), {len(missed)} over a limit "
          f"({LIMIT} times NumPy, {ELEMENT_LIMIT} ns per element)")
    if chosen.json:
        aside = chosen.json.with_name(chosen.json.name + ".part")
        aside.write_text(json.dumps(rows, indent=1))
        aside.rename(chosen.json)
    sys.exit(chosen.strict and bool(missed or mean > MEAN_LIMIT))


if __name__ == "__main__":
    main()
