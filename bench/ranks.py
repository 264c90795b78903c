"""Measures runs on many ranks, prints a table and writes build/bench-ranks.json: what a collective costs beside a
memcpy of the bytes that it has to move, what ranks cost that run together beside the same ranks one after the other,
what a thousand launches leave behind, and whether programs that do not fit together are reported.
"""

import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "examples" / "ranks")]

import numpy as np  # noqa: E402

from figures import Figures, milliseconds, processor_and_clock, ratio, take_turns  # noqa: E402

TRAFFIC_LIMIT = 3.0  # time of an all_reduce, in times of a memcpy of what it reads
TOGETHER_LIMIT = 1.15  # time of 8 ranks together, in times of 8 runs of one
PROCESSES_LIMIT = 2.0  # time of an all_reduce among processes, in times of one among ranks of a process
GROWTH_LIMIT = 4.0  # MiB that a thousand launches may add
RANKS = 8
FEW, MANY = 2, 42  # all_reduces of a run; two write to the memory that all write to


def options():
    parser = argparse.ArgumentParser(prog="bench/ranks", description="Measures runs on many ranks.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="build to measure")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build" / "bench-ranks.json",
                        help="where figures go")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of each figure")
    parser.add_argument("--seed", type=int, default=1, help="of the programs that do not fit together")
    parser.add_argument("--quick", action="store_true", help="small arrays, one round")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a limit is missed")
    return parser.parse_args()


def measure_all_reduce(chosen, figures):
    """The difference of a kernel with five of them and one with one, so that nothing else is in it. Processor time: an
    all_reduce goes on both processors, of which a busy machine takes one."""
    import kiln
    import nki
    import rank_kernels

    side = 128 if chosen.quick else 2048  # 2048 x 2048 float32 are 16 MiB
    arrays = [np.full((side, side), r, np.float32) for r in range(RANKS)]
    copies = [np.empty_like(a) for a in arrays]

    def reduce(times):
        nki.simulate(rank_kernels.sums, ranks=RANKS, nan="off")(kiln.per_rank(arrays), times, RANKS)

    def copy():
        for to, of in zip(copies, arrays):
            np.copyto(to, of)

    for call in (copy, lambda: reduce(1), lambda: reduce(5)):
        call()
    turns = take_turns([copy, lambda: reduce(1), lambda: reduce(5)], chosen.rounds, processor_and_clock)
    copied, once, often = (np.min(times, axis=0) for times in turns)
    busy, passed = (often - once) / 4
    figures.add("all_reduce", float(busy / copied[0]), TRAFFIC_LIMIT, "ratio",
                f"{arrays[0].nbytes / 2**20:.0f} MiB on {RANKS} ranks {busy * 1e3:.1f} ms of processors, memcpy "
                f"{copied[0] * 1e3:.1f}; by the clock {passed * 1e3:.1f} and {copied[1] * 1e3:.1f} ms")


def measure_together(chosen, figures):
    import tensor_parallel_mlp

    import kiln
    import nki
    import rank_kernels

    rng = np.random.default_rng(1)
    side, depth = (128, 2) if chosen.quick else (1024, 10)

    def arrays(shape):
        return [rng.standard_normal(shape, dtype=np.float32) / 8 for _ in range(RANKS)]

    cases = {"mlp": (tensor_parallel_mlp.mlp, [arrays((side, side)) for _ in range(3)], ()),
             "layers": (rank_kernels.layers, [arrays((128, 512)), arrays((128, 128))], (2 * depth, depth)),
             "steps": (rank_kernels.layers, [arrays((32, 32)), arrays((32, 32))], (100, 2))}
    for name, (kernel, given, others) in cases.items():
        def together():
            nki.simulate(kernel, ranks=RANKS)(*map(kiln.per_rank, given), *others, RANKS)

        def one_by_one():
            for parts in zip(*given):
                nki.simulate(kernel, ranks=1)(*parts, *others, 1)

        together(), one_by_one()
        many, single = take_turns([together, one_by_one], chosen.rounds)
        figures.add(f"together.{name}", ratio(many, single), TOGETHER_LIMIT, "ratio",
                    f"{RANKS} ranks {milliseconds(many)}, one by one {milliseconds(single)}")


def sums_text(side, times):
    """So many all_reduces of x, one after the other; two destinations in turn."""
    tensors = "".join(f"  tensor {name}: shared_hbm float32 [{side}, {side}]\n" for name in "abc")
    group = [list(range(RANKS))]
    sums = "".join(f"  all_reduce(srcs=[a], dsts=[{'bc'[i % 2]}], replica_group={group}, op=maximum)\n"
                   for i in range(times))
    return (f'kiln 1\nprogram "sums" target trn2\n  tensor x: input hbm float32 [{side}, {side}]\n'
            f"  tensor y: output shared_hbm float32 [2, 2]\n{tensors}  dma_copy(dst=a, src=x)\n{sums}"
            f"  dma_copy(dst=y, src=b.ap([[{side}, 2], [1, 2]]))\n")


def measure_processes(chosen, figures):
    """The same all_reduce with a process for each rank. Programs in text form, so that each process has the arrays of
    its own rank only; the difference of a run with few of them and one with many, in which the same memory is used.
    Processor time, because 8 processes on few processors wait for whatever else the machine has to do."""
    library = chosen.build / "python" / "kiln" / "libkiln_mpi.so"
    if shutil.which("mpirun") is None or not library.exists():
        return print("processes: mpirun or libkiln_mpi.so is not there")
    environment = {**os.environ, "PYTHONPATH": str(chosen.build / "python"), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    side = 128 if chosen.quick else 2048
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for rank in range(RANKS):
            np.save(folder / f"x.{rank}.npy", np.full((side, side), rank, np.float32))
        for times in (FEW, MANY):
            (folder / f"sums{times}.kiln").write_text(sums_text(side, times))

        def times_of(times, *before):
            words = [*before, sys.executable, "-m", "kiln", "run", f"sums{times}.kiln", "--ranks", str(RANKS), "--in",
                     "x=x.{}.npy", "--nan", "off", "--print", "--json"]
            busy = children_seconds()
            done = subprocess.run(words, env=environment, cwd=folder, check=True, capture_output=True, text=True)
            return np.array([children_seconds() - busy, json.loads(done.stdout)["seconds"]])

        def each(*before):  # seconds of processors and of the clock for one all_reduce
            few = times_of(FEW, *before)
            return np.maximum(1e-9, times_of(MANY, *before) - few) / (MANY - FEW)

        mpirun = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(RANKS)]
        each()  # the first run reads files and libraries
        taken = np.array([(each(), each(*mpirun)) for _ in range(max(1, chosen.rounds // 2))])
    (threads, by_clock), (processes, far_by_clock) = np.median(taken, axis=0)
    ratios = taken[:, 1] / taken[:, 0]
    figures.add("processes", float(np.median(ratios[:, 0])), PROCESSES_LIMIT, "ratio",
                f"processor time of an all_reduce in {RANKS} processes {processes * 1e3:.1f} ms, in one "
                f"{threads * 1e3:.1f} ms; by the clock {far_by_clock * 1e3:.1f} and {by_clock * 1e3:.1f} ms")


def children_seconds():
    """Processor time of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def resident():
    """MiB of memory that the process has."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def measure_growth(chosen, figures):
    import kiln
    import nki
    import rank_kernels

    launches = 20 if chosen.quick else 1000
    arrays = [np.full((16, 16), r, np.float32) for r in range(4)]
    sizes = []
    for launch in range(launches + launches // 5):
        nki.simulate(rank_kernels.sums, ranks=4)(kiln.per_rank(arrays), 2, 4)
        if launch + 1 in (launches // 5, launches + launches // 5):
            sizes.append(resident())
    figures.add("growth", sizes[1] - sizes[0], GROWTH_LIMIT, "MiB",
                f"{launches} launches on 4 ranks, {sizes[0]:.0f} MiB before")


def measure_mismatches(chosen, figures):
    """Programs that differ on one rank: how many of them are not reported as such."""
    import kiln
    import nki
    import rank_kernels

    rng = random.Random(chosen.seed)
    count, silent = 20 if chosen.quick else 200, 0
    for _ in range(count):
        ranks = rng.choice([2, 3, 4, 8])
        plans = rank_kernels.mismatched(rng, ranks)
        signal.alarm(60)  # a run that hangs ends the benchmark
        try:
            nki.simulate(rank_kernels.follow, ranks=ranks)(np.ones((8, 8), np.float32), kiln.per_rank(plans), ranks)
            silent += 1
        except kiln.NkiValidationError as error:
            silent += "run.R17" not in str(error)
        signal.alarm(0)
    figures.add("mismatches", silent, 0, "programs", f"not reported, of {count}; --seed {chosen.seed}")


def main():
    chosen = options()
    if chosen.quick:
        chosen.rounds = 1
    sys.path[:0] = [str(chosen.build / "python")]
    import kiln

    kiln.activate()
    warnings.simplefilter("ignore")
    print(f"{len(os.sched_getaffinity(0))} threads, {chosen.rounds} rounds")
    figures = Figures()
    for measure in (measure_all_reduce, measure_processes, measure_together, measure_growth, measure_mismatches):
        measure(chosen, figures)
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    aside = chosen.output.with_name(chosen.output.name + ".part")
    aside.write_text(json.dumps(figures.rows, indent=1) + "\n")
    aside.replace(chosen.output)
    missed = figures.missed()
    print(f"misses: {', '.join(missed)}" if missed else "meets every limit")
    return 1 if chosen.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
