"""Ranks in several processes that mpirun started: the same bits as in one process, and an end with a clear error when
a process does not stay. Real processes and real messages; skipped where mpirun or libkiln_mpi.so is not."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "programs"))

import rank_sum  # noqa: E402

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
SEED = int(os.environ["KILN_SEED"])
EXAMPLES = sorted(path.stem for path in (SOURCE / "examples" / "ranks").glob("*.py") if path.stem != "parts")
LIMIT = 10  # seconds in which all others end when a process is lost
SLACK = 60  # seconds for starting Python on a busy machine, and for mpirun to clear up

pytestmark = [
    pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not installed (openmpi-bin)"),
    pytest.mark.skipif(not (BUILD / "python" / "kiln" / "libkiln_mpi.so").exists(),
                       reason="libkiln_mpi.so is not built: there was no MPI (libopenmpi-dev)"),
]


@pytest.fixture(scope="module", autouse=True)
def processes_can_be_started():
    """mpirun may be there and not work, as where it may not open sockets: that says nothing about Kiln."""
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", "2", "true"], env=environment(), capture_output=True,
                          text=True, timeout=120)
    if done.returncode:
        pytest.skip(f"mpirun does not start processes here: {done.stderr.strip()[-300:]}")


HEAD = """
import hashlib, os, signal, sys, time
import numpy as np
import kiln, nki, nki.collectives as ncc, nki.isa as nisa, nki.language as nl
from parts import copied, everyone, returned, shared
process = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))

@nki.jit
def total(x, times, ranks):
    here = copied(x, "here")
    there = [shared(x.shape, x.dtype, f"there{i}") for i in range(2)]
    for i in range(times):
        ncc.all_reduce(srcs=[here], dsts=[there[i % 2]], replica_group=everyone(ranks), op=nl.add)
    return returned(there[0])

def digest(results):
    return hashlib.sha256(b"".join(np.ascontiguousarray(r).tobytes() for r in results)).hexdigest()
"""


def environment(**more):
    path = f"{BUILD / 'python'}:{SOURCE / 'examples' / 'ranks'}"
    return {**os.environ, "PYTHONPATH": path, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "KILN_THREADS": "1", **more}


def mpirun(count, words, options=(), **more):
    """Runs `kiln` in so many processes."""
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", *options, "-n", str(count), sys.executable, "-m",
               "kiln", *map(str, words)]
    return subprocess.run(command, env=environment(**more), capture_output=True, text=True, timeout=240)


def alone(words):
    return subprocess.run([sys.executable, "-m", "kiln", *map(str, words)], env=environment(), capture_output=True,
                          text=True, timeout=240)


def script(folder, body):
    path = folder / "script.py"
    path.write_text(HEAD + textwrap.dedent(body))
    return path


@pytest.mark.parametrize("processes, ranks", [(2, 2), (2, 8), (3, 8)])
def test_examples_give_the_same_bits(processes, ranks, tmp_path):
    names = ", ".join(EXAMPLES)
    path = script(tmp_path, f"""
        import {names}
        for example in ({names}):
            print(example.__name__, digest(example.run({ranks}, seed={SEED})[0]))
    """)
    want, got = alone(["run", path]), mpirun(processes, ["run", path])
    assert want.returncode == 0 and got.returncode == 0, f"KILN_SEED={SEED}\n{want.stderr}\n{got.stderr}"
    assert got.stdout == want.stdout and len(got.stdout.splitlines()) == len(EXAMPLES)


def test_large_messages_and_sizes_in_tensors(tmp_path):
    path = script(tmp_path, f"""
        @nki.jit
        def exchanged(x, meta, ranks):
            src, sizes = copied(x, "src"), copied(meta, "sizes")
            dst = shared((ranks * x.shape[0],), x.dtype, "dst")
            nisa.dma_copy(dst=dst, src=shared_zeros(dst))
            nisa.core_barrier(data=src, cores=(0, 1))
            ncc.all_to_all_v(srcs=[src], dsts=[dst], replica_group=everyone(ranks), metadata_tensor=sizes)
            return returned(dst), returned(sizes)

        def shared_zeros(like):
            tile = nl.ndarray((1, like.shape[0]), dtype=like.dtype, buffer=nl.sbuf)
            nisa.memset(dst=tile, value=0.0)
            zeros = shared(like.shape, like.dtype, "zeros")
            nisa.dma_copy(dst=zeros.reshape((1, like.shape[0])), src=tile)
            return zeros

        rng = np.random.default_rng({SEED})
        xs = [rng.standard_normal((2048, 1500), dtype=np.float32) for _ in range(3)]
        print(digest(nki.simulate(total, ranks=3)(kiln.per_rank(xs), 1, 3)))
        xs = [rng.standard_normal(64).astype(np.float32) for _ in range(8)]
        metas = [np.zeros((3, 8), np.uint32) for _ in range(8)]
        for m in metas:
            m[0] = rng.integers(0, 16, 8)
            m[1] = rng.integers(0, 48, 8)
        results = nki.simulate(exchanged[2], ranks=8)(kiln.per_rank(xs), kiln.per_rank(metas), 8)
        print(digest([r for pair in results for r in pair]))
    """)
    want, got = alone(["run", path]), mpirun(2, ["run", path])
    assert want.returncode == 0 and got.returncode == 0, f"KILN_SEED={SEED}\n{want.stderr}\n{got.stderr}"
    assert got.stdout == want.stdout and len(got.stdout.split()) == 2


@pytest.mark.parametrize("copying", ["cma", "none"])
@pytest.mark.parametrize("processes", [2, 3])
def test_large_reductions_come_in_slices(processes, copying, tmp_path):
    """Sums in ascending order of ranks in float32, as NumPy computes them: several tensors of which some are large,
    parts that no slice divides, and more ranks than processes."""
    path = script(tmp_path, f"""
        import ml_dtypes
        RANKS = 5

        @nki.jit
        def reduced(large, small, rows):
            here, few, many = copied(large, "here"), copied(small, "few"), copied(rows, "many")
            there, fewer = shared(large.shape, large.dtype, "there"), shared(small.shape, small.dtype, "fewer")
            part = shared((rows.shape[0] // RANKS, rows.shape[1]), rows.dtype, "part")
            passed = shared(large.shape, large.dtype, "passed")
            ncc.all_reduce(srcs=[here, few, here], dsts=[there, fewer, passed], replica_group=everyone(RANKS),
                           op=nl.add)
            ncc.reduce_scatter(srcs=[many], dsts=[part], replica_group=everyone(RANKS), collective_dim=0, op=nl.add)
            onward = shared(large.shape, large.dtype, "onward")
            ncc.collective_permute_implicit_reduce(srcs0_by_channel=[[here]], srcs1_by_channel=[[there]],
                                                   dsts_by_channel=[[onward]], replica_group=everyone(RANKS),
                                                   op=nl.maximum)
            return tuple(map(returned, (there, fewer, passed, part, onward)))

        def summed(arrays):
            total = arrays[0].astype(np.float32)
            for array in arrays[1:]:
                total = total + array.astype(np.float32)
            return total.astype(arrays[0].dtype)

        rng = np.random.default_rng({SEED})
        large = [rng.standard_normal((700, 1201), dtype=np.float32) for _ in range(RANKS)]
        small = [rng.standard_normal((3, 5)).astype(ml_dtypes.bfloat16) for _ in range(RANKS)]
        rows = [rng.standard_normal((5 * 333, 1201)).astype(ml_dtypes.bfloat16) for _ in range(RANKS)]
        results = nki.simulate(reduced, ranks=RANKS)(*map(kiln.per_rank, (large, small, rows)))
        everything, parts = summed(large), np.split(summed(rows), RANKS)
        for r, (there, fewer, passed, part, onward) in enumerate(results):
            before = np.maximum(large[r - 1], everything)
            for got, want in zip((there, fewer, passed, part, onward),
                                 (everything, summed(small), everything, parts[r], before)):
                assert np.array_equal(got, want), f"rank {{r}}, KILN_SEED={SEED}"
        print("same")
    """)
    done = mpirun(processes, ["run", path], OMPI_MCA_btl_vader_single_copy_mechanism=copying)
    assert done.returncode == 0 and done.stdout == "same\n", f"KILN_SEED={SEED}\n{done.stderr}"


def test_text_programs_read_and_write_files_of_their_ranks(tmp_path):
    (tmp_path / "sum.kiln").write_text(rank_sum.text(2, 3))
    for rank in range(4):
        np.save(tmp_path / f"x.{rank}.npy", np.full((2, 3), 10.0**rank, np.float32))
    run = ["run", tmp_path / "sum.kiln", "--ranks", "4", "--in", f"x={tmp_path}/x.{{}}.npy", "--out",
           f"y={tmp_path}/y.npy"]
    done = mpirun(2, run)
    assert done.returncode == 0, done.stderr
    assert [f"y of rank {rank}" in done.stdout for rank in range(4)] == [True] * 4
    for rank in range(4):
        np.testing.assert_array_equal(np.load(tmp_path / f"y.{rank}.npy"), np.full((2, 3), 1111, np.float32))


@pytest.mark.parametrize("lnc", [1, 2])
def test_functions_and_tensor_programs(lnc, tmp_path):
    """Compiled ones, on pairs too, in loops, and of several kernels: the bits of one process."""
    (tmp_path / "sum.kt").write_text("""kt 1
program "sum"
x: float32[4, 6] = input(name="x")
y = all_reduce(x, op="add", groups=[4, 0, 1, 2, 3])
z = tanh(y)
output "z" = z
""")
    for rank in range(4):
        np.save(tmp_path / f"x.{rank}.npy", np.full((4, 6), 0.1 * rank, np.float32))
    files = []
    for run in (alone, lambda words: mpirun(2, words)):
        done = run(["run", tmp_path / "sum.kt", "--ranks", 4, "--lnc", lnc, "--in", f"x={tmp_path}/x.{{}}.npy", "--out",
                    f"z={tmp_path}/z.npy"])
        assert done.returncode == 0 and [f"z of rank {r}" in done.stdout for r in range(4)] == [True] * 4, done.stderr
        files.append([(tmp_path / f"z.{r}.npy").read_bytes() for r in range(4)])
    assert files[0] == files[1]

    path = script(tmp_path, f"""
        import kiln.numpy as kn
        rng = np.random.default_rng({SEED})
        x = kiln.per_rank([rng.standard_normal((8, 8)).astype(np.float32) for _ in range(4)])
        ring = [(r, (r + 1) % 4) for r in range(4)]
        around = lambda x: kiln.fori_loop(0, 4, lambda i, s: (kn.collective_permute(s[0], ring), s[1] + s[0] * i),
                                          (x, x * 0))[1]
        layer = lambda x: np.exp(kn.reduce_scatter(np.tanh(x) @ kn.all_reduce(x)) * 0.125)
        for function, ops in ((around, 400), (layer, 2)):
            print(digest(kiln.jit(function, ranks=4, kernel_ops=ops, lnc={lnc})(x)))
    """)
    want, got = alone(["run", path, "--target", "trn2"]), mpirun(2, ["run", path, "--target", "trn2"])
    assert want.returncode == 0 and got.returncode == 0, f"KILN_SEED={SEED}\n{want.stderr}\n{got.stderr}"
    assert got.stdout == want.stdout and len(got.stdout.splitlines()) == 2


def test_json_is_one_document(tmp_path):
    (tmp_path / "sum.kiln").write_text(rank_sum.text(2, 3))
    for rank in range(4):
        np.save(tmp_path / f"x.{rank}.npy", np.full((2, 3), rank, np.float32))
    got = mpirun(2, ["run", tmp_path / "sum.kiln", "--ranks", "4", "--in", f"x={tmp_path}/x.{{}}.npy", "--print",
                     "--json"])
    assert [output["rank"] for output in json.loads(got.stdout)["outputs"]] == [0, 1, 2, 3], got.stderr


def test_too_many_processes_are_refused(tmp_path):
    path = script(tmp_path, "nki.simulate(total, ranks=2)(np.ones((2, 2), np.float32), 1, 2)")
    done = mpirun(3, ["run", path])
    assert done.returncode != 0 and "2 ranks for 3 processes" in done.stderr and "mpi.R4" in done.stderr


def test_without_the_library_there_is_a_clear_message(tmp_path):
    path = script(tmp_path, "nki.simulate(total, ranks=2)(np.ones((2, 2), np.float32), 1, 2)")
    done = mpirun(2, ["run", path], KILN_MPI_LIBRARY=str(tmp_path / "none.so"))
    assert done.returncode != 0 and "mpi.R1" in done.stderr


def ends_in_time(tmp_path, body, words, processes=2, **more):
    """The others end within LIMIT seconds after what `body` does to process 1, say why, and write nothing."""
    launch = "result = nki.simulate(total, ranks=4)(np.ones((64, 64), np.float32), 2, 4)"
    path = script(tmp_path, "\n".join([
        f"def mark(): open('{tmp_path}/began', 'w').write(str(time.time()))", launch, textwrap.dedent(body), launch,
        f"np.save('{tmp_path}/result.npy', result[0])"]))
    done = mpirun(processes, ["run", path], **more)
    seconds = time.time() - float((tmp_path / "began").read_text())
    assert done.returncode != 0
    assert any(word in done.stderr for word in words), done.stderr
    assert not (tmp_path / "result.npy").exists()
    assert seconds < LIMIT + SLACK


def test_killed_process_ends_all(tmp_path):
    ends_in_time(tmp_path, """
if process == 1:
    mark()
    os.kill(os.getpid(), signal.SIGKILL)
""", ["signal 9", "Killed"])


def test_silent_process_ends_all(tmp_path):
    ends_in_time(tmp_path, """
if process == 1:
    mark()
    os.kill(os.getpid(), signal.SIGSTOP)
""", ["process 1 is silent"])


def test_process_that_ends_early_ends_all(tmp_path):
    ends_in_time(tmp_path, """
if process == 1:
    mark()
    sys.exit(0)
""", ["process 1 has ended"])


def test_failure_of_a_process_ends_all(tmp_path):
    ends_in_time(tmp_path, """
if process == 1:
    mark()
    raise RuntimeError("a script of its own")
""", ["process 1 has ended"])


def test_other_program_ends_all(tmp_path):
    ends_in_time(tmp_path, """
if process == 1:
    mark()
    nki.simulate(total, ranks=4)(np.ones((64, 64), np.float32), 3, 4)
""", ["mpi.R4"])


def test_ranks_that_wait_in_vain_are_reported_by_all(tmp_path):
    path = script(tmp_path, """
        nki.simulate(total, ranks=4)(np.ones((8, 8), np.float32), kiln.per_rank([1, 1, 1, 2]), 4)
    """)
    done = mpirun(2, ["run", path])
    assert done.returncode != 0 and "run.R17" in done.stderr and "ranks 0 to 2" in done.stderr


def test_bytes_that_were_never_written_are_followed(tmp_path):
    path = script(tmp_path, """
        @nki.jit
        def half(x, ranks):
            here, there = shared(x.shape, x.dtype, "here"), shared(x.shape, x.dtype, "there")
            nisa.dma_copy(dst=here[0:2], src=x[0:2])
            ncc.all_reduce(srcs=[here], dsts=[there], replica_group=everyone(ranks), op=nl.add)
            return returned(there)

        nki.simulate(half, ranks=2)(np.ones((4, 4), np.float32), 2)
    """)
    want, got = alone(["run", path]), mpirun(2, ["run", path])
    assert want.returncode != 0 and "run.R1" in want.stderr and "`here`" in want.stderr
    assert got.returncode != 0 and "run.R1" in got.stderr and "`here`" in got.stderr


class Namespaces:
    """Two network namespaces with a cable between them, and a remote shell for mpirun that enters them."""

    def __init__(self, folder):
        self.names = [f"kiln{os.getpid()}a", f"kiln{os.getpid()}b"]
        self.addresses = ["10.177.13.1", "10.177.13.2"]
        self.agent = folder / "agent"

    def ip(self, *words):
        subprocess.run(["ip", *words], check=True, capture_output=True, timeout=20)

    def __enter__(self):
        for name in self.names:
            self.ip("netns", "add", name)
        self.ip("link", "add", "k0", "netns", self.names[0], "type", "veth", "peer", "name", "k0", "netns",
                self.names[1])
        for name, address in zip(self.names, self.addresses):
            self.ip("-n", name, "addr", "add", f"{address}/24", "dev", "k0")
            self.ip("-n", name, "link", "set", "k0", "up")
            self.ip("-n", name, "link", "set", "lo", "up")
        cases = "".join(f"{a}) ns={n};; " for n, a in zip(self.names, self.addresses))
        self.agent.write_text(f'#!/bin/sh\ncase "$1" in {cases}esac\nshift\n'
                              'exec ip netns exec $ns /bin/sh -c "$*"\n')
        self.agent.chmod(0o755)
        return self

    def __exit__(self, *_):
        for name in self.names:  # daemons of mpirun that a cut network leaves behind
            inside = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout
            for process in map(int, inside.split()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def mpirun(self, words, **more):
        names = [word for name in ("PYTHONPATH", "KILN_THREADS", "KILN_MPI_TIMEOUT") for word in ("-x", name)]
        command = ["ip", "netns", "exec", self.names[0], "mpirun", "--mca", "plm_rsh_agent", str(self.agent),
                   "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "k0", "--mca", "oob_tcp_if_include", "k0",
                   "--bind-to", "none", "--host", ",".join(self.addresses), *names, "-n", "2", sys.executable, "-m",
                   "kiln", *map(str, words)]
        with open(self.agent.parent / "out", "w") as out, open(self.agent.parent / "err", "w") as err:
            return subprocess.Popen(command, env=environment(KILN_MPI_TIMEOUT="5", **more), stdout=out, stderr=err,
                                    start_new_session=True)


@pytest.fixture
def namespaces(tmp_path):
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed (iproute2)")
    try:
        with Namespaces(tmp_path) as made:
            yield made
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces may not be made here: {error.stderr.decode().strip()}")


def test_across_networks(namespaces, tmp_path):
    path = script(tmp_path, f"""
        xs = [np.random.default_rng({SEED} + r).standard_normal((512, 512), dtype=np.float32) for r in range(4)]
        print(digest(nki.simulate(total, ranks=4)(kiln.per_rank(xs), 2, 4)))
    """)
    run = namespaces.mpirun(["run", path])
    run.wait(timeout=120)
    assert run.returncode == 0, (tmp_path / "err").read_text()
    assert (tmp_path / "out").read_text() == alone(["run", path]).stdout


def test_cut_network_ends_all(namespaces, tmp_path):
    """Every process ends; mpirun itself may go on waiting for the other machine."""
    path = script(tmp_path, f"""
        nki.simulate(total, ranks=4)(np.ones((64, 64), np.float32), 2, 4)
        with open("{tmp_path}/part" + str(process), "w") as file:
            file.write(str(os.getpid()))
        os.rename("{tmp_path}/part" + str(process), "{tmp_path}/process" + str(process))
        while True:
            result = nki.simulate(total, ranks=4)(np.ones((64, 64), np.float32), 2, 4)
    """)
    run = namespaces.mpirun(["run", path])
    files = [tmp_path / f"process{p}" for p in range(2)]
    waits(lambda: all(file.exists() for file in files), 120)
    namespaces.ip("-n", namespaces.names[1], "link", "set", "k0", "down")
    ended = waits(lambda: not any(is_running(int(file.read_text())) for file in files), LIMIT + SLACK)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    err = (tmp_path / "err").read_text()
    assert ended and ("is silent" in err or "lost" in err), err


def waits(condition, seconds):
    """Waits for a condition; returns whether it came."""
    end = time.time() + seconds
    while not condition() and time.time() < end:
        time.sleep(0.1)
    return condition()


def is_running(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
