"""Runs a fuzz target that is written in Python; to be imported before kiln. With atheris, the words are libFuzzer's;
otherwise

    fuzz_x.py --seconds N [--inputs N] [--seed S] [--failed FOLDER] [FOLDER or FILE...]

runs every file of the corpus, then random mutations of them for so many seconds or inputs. The seed is printed, and an
input that fails is kept. An input that takes longer than SECONDS_EACH fails, too."""

import argparse
import faulthandler
import hashlib
import pathlib
import random
import sys
import time

try:
    import atheris

    atheris.instrument_imports(include=["kiln"]).__enter__()  # watches what is imported from now on
except ImportError:
    atheris = None

SECONDS_EACH = 20  # on a machine that is busy; they should take a fiftieth of a second


def _mutated(data, corpus, numbers):
    data = bytearray(data)
    for _ in range(numbers.randint(1, 6)):
        at = numbers.randint(0, len(data))
        end = min(len(data), at + numbers.randint(0, 16))
        kind = numbers.randrange(5)
        if kind == 0:
            data[at:end] = b""
        elif kind == 1:
            data[at:at] = numbers.randbytes(numbers.randint(1, 16))
        elif kind == 2 and at < len(data):
            data[at] ^= 1 << numbers.randrange(8)
        elif kind == 3:
            data[at:end] = str(numbers.choice((0, -1, 1, 128, 2**31, 2**63, 10**30))).encode()
        else:
            other = numbers.choice(corpus)
            first = numbers.randint(0, len(other))
            data[at:end] = other[first:first + numbers.randint(1, 100)]
    return bytes(data[:1 << 14])


def _run(target, data, number, failed):
    faulthandler.dump_traceback_later(SECONDS_EACH, exit=True)
    try:
        target(data)
    except BaseException:
        path = failed / f"failed-{hashlib.sha256(data).hexdigest()[:16]}"
        path.write_bytes(data)
        print(f"failed on input {number}, kept as {path}", flush=True)
        raise
    finally:
        faulthandler.cancel_dump_traceback_later()


def _files(paths):
    for path in map(pathlib.Path, paths):
        yield from sorted(path.iterdir()) if path.is_dir() else [path]


def _run_alone(target, words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--inputs", type=int, default=sys.maxsize)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--failed", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("corpus", nargs="*")
    options = parser.parse_args(words)
    print(f"seed {options.seed}", flush=True)
    corpus = [path.read_bytes() for path in _files(options.corpus)]
    for i, data in enumerate(corpus):
        _run(target, data, f"{i} of the corpus", options.failed)
    corpus.append(b"")
    numbers, end, count = random.Random(options.seed), time.monotonic() + options.seconds, 0
    while count < options.inputs and time.monotonic() < end:
        count += 1
        fresh = numbers.randrange(2) == 0
        base = numbers.randbytes(numbers.randint(0, 200)) if fresh else numbers.choice(corpus)
        _run(target, _mutated(base, corpus, numbers), count, options.failed)
    print(f"{count} inputs")


def main(target):
    """Calls target(bytes) until the time is up or it raises."""
    if "--seconds" not in sys.argv and atheris:
        atheris.Setup(sys.argv, target)
        atheris.Fuzz()
    else:
        _run_alone(target, sys.argv[1:])
