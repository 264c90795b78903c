"""Who computes, and what computed the last call."""

import contextlib
import functools
import inspect
import threading

from kiln._kiln import blas as native

from . import _neuron
from ._autograd import require_gradient

_neuron.register()
NOTHING = contextlib.nullcontext()
_CHOICES = tuple(native.backend_choices())


def available():
    """The backends that can compute here."""
    return ["native", "simulator", *(["neuron"] if not _neuron.why_not() else [])]


def _check(backend, name="backend"):
    if not isinstance(backend, str) or backend not in _CHOICES:
        raise ValueError(f"{name}: {backend!r} is none of {', '.join(_CHOICES)}; "
                         f"here are {', '.join(available())}")
    if backend == "neuron" and _neuron.why_not():
        raise RuntimeError(f"{name}: neuron is not there: {_neuron.why_not()}; here are {', '.join(available())}")
    return backend


def set_backend(backend):
    """Chooses who computes from now on: 'native', 'simulator', 'neuron', or 'auto' (the environment, else a device,
    else native). 'pytorch' is native; 'nki' is a device when there is one and the simulator otherwise."""
    native.set_backend(_check(backend))


def get_backend():
    """The word that was set; 'auto' when none was."""
    return native.get_backend()


def current_backend():
    """Who would compute a call now: 'native', 'simulator' or 'neuron'."""
    return native.current_backend("BLAS")


def scope(backend):
    """A with statement's worth of another backend; None: the one that is set."""
    return NOTHING if backend is None else native.BackendScope(_check(backend))


def routine(function=None, *, plain=None):
    """A routine with one more argument, `backend`: who computes this call. Where `plain` is given, it takes the backend
    and the other arguments and computes a call that nothing is to be said about, quickly; else it gives None."""
    if function is None:
        return functools.partial(routine, plain=plain)

    @functools.wraps(function)
    def call(*args, backend=None, **kwargs):
        if plain is not None and not kwargs:
            result = plain(backend, *args)
            if result is not None:
                return result
        note_precision()
        if function.__name__ != "iamax":  # a number of no gradient
            require_gradient(function, [*args, *kwargs.values()])
        with scope(backend):
            return function(*args, **kwargs)

    signature = inspect.signature(function)
    more = inspect.Parameter("backend", inspect.Parameter.KEYWORD_ONLY, default=None)
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), more])
    return call


def set_target(chip):
    """The chip that kernels are made for: 'trn1', 'trn2' (the default) or 'trn3'."""
    if chip not in ("trn1", "trn2", "trn3"):
        raise ValueError(f"chip: {chip!r} is none of 'trn1', 'trn2', 'trn3'")
    native.set_target(chip)


def get_target():
    return native.get_target()


_noted = threading.local()  # the precision of the last call and its bound, where one was asked for


def note_precision(precision=None, bound=None):
    _noted.precision = (precision, bound)


class LastCall:
    """What computed a call: its operation, backend and target; where a precision was asked for, that and the bound of
    the error. The program of its kernel and the time that is predicted for it are made when they are asked for."""

    def __init__(self, told, precision, error_bound):
        self.operation, self.backend, self.target = told.operation, told.backend, told.target
        self.precision, self.error_bound = precision, error_bound
        self._told = told

    @functools.cached_property
    def programs(self):
        """The programs of the kernel, one for each core; none where there is no kernel so far."""
        return tuple(self._told.programs())

    @property
    def program(self):
        """The program of the kernel, as kiln.program gives it, or of the first core of a pair; None without one."""
        return self.programs[0] if self.programs else None

    @functools.cached_property
    def predicted_ns(self):
        """Nanoseconds that the model of time predicts for the kernel on the target, all cores of it; None without a
        kernel."""
        return self._told.predicted_ns()

    def __repr__(self):
        return f"<{self.operation} by {self.backend}, kernel for {self.target}>"


def last_call():
    """The LastCall of this thread; None before the first call."""
    told = native.last_call()
    return None if told is None else LastCall(told, *getattr(_noted, "precision", (None, None)))
