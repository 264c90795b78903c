"""sequence: a Python function that calls jitted functions, one after the other, such as a model of many equal layers.
Each is compiled once for its shapes, and the predicted time of the whole is the sum of theirs."""

import functools
import json
import threading

from kiln._files import write_aside
from kiln.numpy import _arguments
from kiln.numpy._array import Array

_local = threading.local()


class Step:
    """A call of a jitted function: `name`, `start_us`, `time_us`, `band_us`."""

    __slots__ = ("band_us", "lowered", "name", "start_us", "time_us")

    def __init__(self, name, lowered, start_us):
        timing = lowered.time()
        self.name, self.lowered, self.start_us = name, lowered, start_us
        self.time_us, self.band_us = timing.latency_us, timing.band_us


class SequenceTiming:
    """The predicted time of a sequence: `latency_us`, `band_us`, and `steps`, the timeline of calls."""

    def __init__(self, name, steps):
        self.name, self.steps = name, steps

    @property
    def latency_us(self):
        return sum(s.time_us for s in self.steps)

    @property
    def band_us(self):
        return sum(s.band_us[0] for s in self.steps), sum(s.band_us[1] for s in self.steps)

    def report(self):
        """A line for each call."""
        low, high = self.band_us
        lines = [
            f"{self.name}: {self.latency_us:.2f} us, between {low:.2f} us and {high:.2f} us, in "
            f"{len(self.steps)} calls",
            f"  {'start us':>12} {'time us':>10}  call",
        ]
        lines += [f"  {s.start_us:12.2f} {s.time_us:10.2f}  {s.name}" for s in self.steps]
        return "\n".join(lines) + "\n"

    __str__ = report

    def as_dict(self):
        low, high = self.band_us
        return {"name": self.name, "time_ns": self.latency_us * 1000, "low_ns": low * 1000, "high_ns": high * 1000,
                "steps": [{"name": s.name, "start_ns": s.start_us * 1000, "time_ns": s.time_us * 1000}
                          for s in self.steps]}

    def save_trace(self, path):
        """A trace that ui.perfetto.dev opens."""
        events = [
            {"name": s.name, "ph": "X", "ts": s.start_us, "dur": s.time_us, "pid": 0, "tid": 0} for s in self.steps
        ]
        write_aside(path, json.dumps({"traceEvents": events}))


class Sequence:
    """The function, and `time`."""

    def __init__(self, function):
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    def time(self, *args, target=None, **kwargs):
        """A SequenceTiming for arguments of these shapes: arrays, or texts such as "float32[128,512]". No value is
        read: the function may hand on what jitted functions return, and no more."""
        from kiln.numpy._jit import default_target

        recorder = Recorder(target or default_target())
        outer, _local.recorder = recording(), recorder
        try:
            self._function(*map(_shapes, args), **{k: _shapes(v) for k, v in kwargs.items()})
        finally:
            _local.recorder = outer
        return SequenceTiming(getattr(self._function, "__name__", "sequence"), recorder.steps)


def sequence(function):
    """Decorator of a function that calls jitted functions: `.time(*shapes)` tells how long all of them take."""
    return Sequence(function)


class Recorder:
    def __init__(self, target):
        self.target, self.steps = target, []
        self._lowered = {}

    def call(self, jitted, structure, kwargs_structure, arrays, key):
        """Records a call, and returns shapes in place of its results."""
        key = (id(jitted), *key)
        if key not in self._lowered:
            self._lowered[key] = jitted.lowered_for(structure, kwargs_structure, arrays, self.target)
        lowered = self._lowered[key]
        start = self.steps[-1].start_us + self.steps[-1].time_us if self.steps else 0.0
        self.steps.append(Step(lowered.traced.name, lowered, start))
        made = [_arguments.Shape(dtype.name, shape) for _, dtype, shape, _, _ in lowered.traced.outputs]
        return _arguments.unflatten(lowered.traced.structure, made)


def recording():
    """The Recorder of this thread; None when no sequence is timed."""
    return getattr(_local, "recorder", None)


def _shapes(x):
    """Arrays as their shapes, in containers too."""
    x = _arguments.as_given(x)
    if isinstance(x, (tuple, list)) and not hasattr(x, "_fields"):
        return type(x)(map(_shapes, x))
    if isinstance(x, dict):
        return {k: _shapes(v) for k, v in x.items()}
    if _arguments.is_tensor(x) and not isinstance(x, (Array, _arguments.Shape)):
        return _arguments.Shape(x.dtype, x.shape)
    return x
