"""What must not happen: leaks, crashes, deadlocks, hangs, a process that is unusable after an error."""

import inspect
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import isa as nisa
from kiln.nki import language as nl


@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(t, x)
    nisa.tensor_scalar(t, t, nl.multiply, 2.0)
    nisa.dma_copy(out, t)
    return out


@nki.jit
def refused(x):
    t = nl.ndarray((128, 4), dtype=nl.float32)
    nisa.tensor_tensor(t, t, t[0:64], op=nl.add)
    return x


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_ten_thousand_runs_do_not_grow():
    x = np.ones((16, 16), np.float32)

    def run(times):
        for i in range(times):
            double(x)
            if i % 10 == 0:
                with pytest.raises(nisa.NkiValidationError):
                    refused(x)

    run(1000)
    before = resident_bytes()
    run(10_000)
    assert resident_bytes() - before < 8 << 20


def test_threads_simulate_at_once():
    failures = []

    def work(value):
        x = np.full((64, 32), value, np.float32)
        for _ in range(50):
            if not np.array_equal(double(x), 2 * x):
                failures.append(value)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=120)
    assert not failures and not any(t.is_alive() for t in threads)


def _forked(queue):
    x = np.full((64, 32), 3, np.float32)
    queue.put(np.array_equal(double(x), 2 * x))


def test_forks_simulate_at_once():
    double(np.ones((64, 32), np.float32))  # threads of the machine have been there before the fork
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_forked, args=(queue,)) for _ in range(4)]
    for c in children:
        c.start()
    assert all(queue.get(timeout=120) for _ in children)
    for c in children:
        c.join(timeout=60)
        assert c.exitcode == 0


def run_script(text, **kwargs):
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(text)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=os.environ | kwargs)


LONG = """
    import numpy as np
    from kiln import nki
    from kiln.nki import isa as nisa, language as nl

    def kernel(x):
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(t, x)
        def body(i):
            nisa.tensor_scalar(t, t, nl.multiply, 1.0)
        nl.fori_loop(0, 90000000, body)
        nisa.dma_copy(x, t)

    print("ready", flush=True)
    try:
        nki.simulate(kernel)(np.ones((128, 64), np.float32))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    y = nki.simulate(lambda x: x)(np.ones((1, 1), np.float32))
    print("usable", flush=True)
"""


def test_ctrl_c_stops_a_long_simulation():
    child = run_script(LONG)
    assert child.stdout.readline() == "ready\n"
    threading.Event().wait(1.5)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert "interrupted" in out and "usable" in out, err


def test_a_signal_stops_few_long_instructions():
    """A handler runs between two instructions, however few there are, and nothing that waits is finished first."""
    class Stop(Exception):
        pass

    def stop(number, frame):
        raise Stop

    def kernel(x):
        t = nl.ndarray((128, 32768), dtype=nl.float32)
        nisa.memset(t, 1.0)
        nl.fori_loop(0, 250, lambda i: nisa.activation(t, nl.exp, t) and None)
        nisa.dma_copy(x, t[:, 0:4])
        signal.setitimer(signal.ITIMER_REAL, 0.1)  # while the machine runs

    before = signal.signal(signal.SIGALRM, stop)
    try:
        with pytest.raises(Stop):
            nki.simulate(kernel)(np.ones((128, 4), np.float32))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(double(np.ones((2, 2), np.float32)), np.full((2, 2), 2.0))


def test_a_device_loop_without_end_is_reported(monkeypatch):
    def kernel(x):
        condition = nisa.register_alloc(1)
        nl.while_loop(condition, lambda c: c)
        return x

    monkeypatch.setenv("KILN_MAX_ITERATIONS", "1000")
    with pytest.raises(nisa.NkiValidationError, match="1000 iterations and no end"):
        nki.simulate(kernel)(np.ones((1, 1), np.float32))


def test_showing_a_tensor_ends_after_a_device_loop_without_end(monkeypatch):
    shown = []

    def kernel(x):
        condition = nisa.register_alloc(1)
        nl.while_loop(condition, lambda c: c)
        shown.append(repr(x))
        return x

    monkeypatch.setenv("KILN_MAX_ITERATIONS", "1000")
    with pytest.raises(nisa.NkiValidationError):
        nki.simulate(kernel)(np.ones((1, 1), np.float32))
    assert "1000 iterations and no end" in shown[0]


def test_a_python_loop_without_end_is_reported(monkeypatch):
    def kernel(x):
        t = nl.ndarray((1, 1), dtype=nl.float32)
        while True:
            nisa.memset(t, 0.0)

    monkeypatch.setenv("KILN_MAX_INSTRUCTIONS", "5000")
    with pytest.raises(nisa.NkiValidationError, match="5000 instructions and no end"):
        nki.simulate(kernel)(np.ones((1, 1), np.float32))


def test_an_exception_of_the_kernel_passes_through_and_inputs_stay():
    def kernel(x):
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.memset(t, 5.0)
        nisa.dma_copy(x, t)
        raise LookupError("in the middle")

    x = np.ones((2, 2), np.float32)
    with pytest.raises(LookupError, match="in the middle"):
        nki.simulate(kernel)(x)
    np.testing.assert_array_equal(x, 1)
    np.testing.assert_array_equal(double(x), 2)


@pytest.mark.parametrize("argument, match", [
    (np.ones((2, 2)), "float64"), (np.ones((2, 2), np.int64), "int64"),
    (np.ones((0, 2), np.float32), "no elements|elements"),
    (np.float32(1) * np.ones(()).astype(np.float32).reshape(()), "dimension|argument"),
    (np.array(["a"]), "dtype"), (np.ones((2, 2), np.complex64), "complex64")])
def test_arguments_that_are_no_tensors_are_refused(argument, match):
    if isinstance(argument, np.float32):
        argument = np.array(argument)
    with pytest.raises(nisa.NkiValidationError, match=match):
        double(argument)


def test_read_only_arguments_are_not_written():
    def kernel(x):
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.memset(t, 5.0)
        nisa.dma_copy(x, t)

    x = np.ones((2, 2), np.float32)
    x.setflags(write=False)
    with pytest.raises(nisa.NkiValidationError, match="read-only"):
        nki.simulate(kernel)(x)
    np.testing.assert_array_equal(x, 1)


def test_read_only_arguments_are_read():
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    x.setflags(write=False)
    np.testing.assert_array_equal(double(x), 2 * x)


def test_tensors_do_not_travel_between_runs():
    kept = []

    def kernel(x):
        t = nl.ndarray(x.shape, dtype=x.dtype)
        nisa.dma_copy(t, kept[0] if kept else x)
        kept.append(t)
        nisa.dma_copy(x, t)

    x = np.ones((2, 2), np.float32)
    nki.simulate(kernel)(x)
    with pytest.raises(nisa.NkiValidationError, match="another kernel run"):
        nki.simulate(kernel)(x)


def test_instructions_outside_a_kernel_are_refused():
    with pytest.raises(nisa.NkiValidationError, match="outside a kernel"):
        nl.ndarray((2, 2), dtype=nl.float32)
    with pytest.raises(nisa.NkiValidationError, match="outside a kernel"):
        nisa.memset(None, 0)


def _nested(x):
    t = nl.ndarray((1, 1), dtype=nl.float32)
    nisa.memset(t, 1.0)
    for _ in range(10):
        _row(t)
    return x


def _row(t):
    for _ in nl.affine_range(2):
        nisa.memset(t, 0.0)
    for _ in nl.affine_range(10**9):  # too many
        nisa.tensor_scalar(t, t, nl.add, 1.0)


def _line_of(text):
    lines, first = inspect.getsourcelines(_row)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_too_many_instructions_name_the_loop(monkeypatch):
    monkeypatch.setenv("KILN_MAX_INSTRUCTIONS", "5000")
    with pytest.raises(nisa.NkiValidationError) as error:
        nki.simulate(_nested)(np.ones((1, 1), np.float32))
    (d,) = error.value.diagnostics
    # One memset before the loops and two in the first inner one; the limit is seen with the instruction after it.
    assert f"the loop at {__file__}:{_line_of('too many')} unrolled to 4998 of them" in d.found
    assert (d.code, d.loc.file, d.loc.line) == ("nki.R4", __file__, _line_of("too many"))
    assert len(d.notes) == 2, "the loop that calls, and the one inside"
    report = kiln.check(_nested, "float32[1,1]")
    assert [d.code for d in report.diagnostics] == ["nki.R4"]


OUT_OF_MEMORY = """
import resource
import numpy as np
import kiln
from kiln import nki
from kiln.nki import isa as nisa, language as nl

def kernel(x):
    t = nl.ndarray((1, 1), dtype=nl.float32)
    for i in range(10**9):
        nisa.memset(t, 0.0)

nki.simulate(lambda x: nisa.memset(nl.ndarray((1, 1), dtype=nl.float32), 0.0) and x)  # all is imported
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**26, used + 2**26))
try:
    nki.simulate(kernel)(np.ones((1, 1), np.float32))
except kiln.NkiValidationError as error:
    print(error.code, error.diagnostics[0].found)
"""


def test_a_trace_out_of_memory_names_the_loop(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(OUT_OF_MEMORY)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    loop = rf"the loop at {script}:10 unrolled to \d+ of them"
    assert re.match(rf"nki.R4 no memory is left for more than \d+ instructions; {loop}", done.stdout), done.stderr
