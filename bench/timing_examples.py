"""How long it takes to time the examples, in seconds of processor time: those in C++ through the command, at their own
and at large sizes, those in Python through kiln.time, with tracing and checking."""

import contextlib
import importlib
import io
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRIPS = 64  # of each loop on a register, whose count the input holds

# Large sizes; a row for every example in C++.
LARGE = {
    "attention": [16, 4096, 128],
    "block_sparse": [64, 64, 1024, 4096],
    "complex_gemm": [4096, 4096, 4096],
    "gemm": [8192, 8192, 8192],
    "rms_norm": [65536, 4096],
    "softmax": [65536, 4096],
    "tensor_add": [65536, 8192],
}


def example_seconds(build):
    """Seconds by the name of the example."""
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, sizes in LARGE.items():
            for title, options in [(name, []), (f"{name} {sizes}", ["--sizes", *map(str, sizes)])]:
                seconds[title] = command_seconds(build, name, options, pathlib.Path(folder))
    return seconds | python_seconds(build)


def command_seconds(build, name, options, folder):
    command = [build / "examples" / "cpp" / name, *options, "--text"]
    text = subprocess.run(command, capture_output=True, text=True, check=True)
    file = folder / f"{name}.kiln"
    file.write_text(text.stdout)
    trips = [f"--trip-count={loop}={TRIPS}" for loop in re.findall(r"^ *for (\w+) =", text.stdout, re.M)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([build / "cli" / "kiln", "time", "--no-advice", *trips, file], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def python_seconds(build):
    """Every kernel that the main functions of examples/nki call, with the arguments that they call it with."""
    sys.path[:0] = [str(build / "python"), str(ROOT / "examples" / "nki")]
    import kiln

    kiln.activate()
    import nki

    seconds, run = {}, nki.Kernel.__call__

    def timed(kernel, *args, **kwargs):
        begin = time.process_time()
        kiln.time(kernel, advice=False)(*args, **kwargs)
        seconds[f"{kernel.func.__name__}.py"] = time.process_time() - begin
        return run(kernel, *args, **kwargs)

    nki.Kernel.__call__ = timed
    try:
        for script in sorted((ROOT / "examples" / "nki").glob("*.py")):
            module = importlib.import_module(script.stem)
            if hasattr(module, "main"):
                with contextlib.redirect_stdout(io.StringIO()):
                    module.main()
    finally:
        nki.Kernel.__call__ = run
    return seconds
