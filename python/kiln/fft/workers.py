"""How many threads a caller asks for, as in scipy.fft: said and remembered. Results are the same for any number, and
the backend of a call has its own."""

import contextlib
import os
import threading

from ._axes import whole

_chosen = threading.local()


def count_of(workers):
    """A number of threads; negative ones count from all that there are."""
    workers, most = whole(workers, "workers"), os.cpu_count()
    if workers == 0:
        raise ValueError("workers: 0; workers must not be zero")
    if workers < -most:
        raise ValueError(f"workers: {workers}; workers value out of range, expected at least {-most}")
    return workers if workers > 0 else most + 1 + workers


def get_workers():
    return getattr(_chosen, "count", 1)


@contextlib.contextmanager
def set_workers(workers):
    """For a with statement."""
    before, _chosen.count = get_workers(), count_of(workers)
    try:
        yield
    finally:
        _chosen.count = before
