"""opt=3: a search for a faster program with the timing model, spread over any concurrent.futures executor."""

import pathlib
import time

from kiln import _kiln
from kiln._files import write_aside
from kiln.tune import Progress, timed

_tuners = {}  # of this process, by what they were made from


def _tuner(key):
    """Workers compile a program once."""
    if key not in _tuners:
        _tuners.clear()
        text, target, donated, lnc = key
        _tuners[key] = _kiln.TensorTuner(_kiln.TensorGraph.parse(text), target, list(donated), lnc, 0)
    return _tuners[key]


class _Timer:
    """The time of a candidate, in another process too."""

    def __init__(self, *key):
        self.key = key

    def __call__(self, candidate):
        return _tuner(self.key).time(candidate)


def search(graph, target, donated, lnc, *, time_limit=60, seed=0, cache=None, executor=None, progress=None):
    """The fastest program that is found in time_limit seconds; the same one for the same seed and number of rounds.
    cache: a file with the times of candidates, from which a search that was stopped goes on."""
    end = time.monotonic() + time_limit
    tuner = _kiln.TensorTuner(graph, target, donated, lnc, seed)
    file = pathlib.Path(cache) if cache else None
    if file is not None and file.exists():
        tuner.restore(file.read_text())
    function = tuner.time if executor is None else _Timer(graph.text(True), target, tuple(donated), lnc)
    bar = Progress("searching", 100, progress)
    start = time.monotonic()
    while time.monotonic() < end:
        candidates = tuner.ask()
        if not candidates:
            break
        for candidate, ns in zip(candidates, timed(function, candidates, executor=executor)):
            tuner.tell(candidate, ns)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_aside(file, tuner.state())
        bar.show_at(100 * (time.monotonic() - start) / max(time_limit, 1e-9),
                    f"{tuner.tried} programs, {tuner.best_ns / 1000:.1f} us")
    bar.close()
    return tuner.compiled()
