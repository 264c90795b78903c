"""Who computes: the choice that all libraries of Kiln share, with the environment of trnsparse."""

import functools
import inspect

from kiln._kiln import blas as native
from kiln.blas import _backend as shared
from kiln.blas._backend import available, get_backend, get_target, last_call, scope, set_target

__all__ = ["available", "current_backend", "get_backend", "get_target", "last_call", "routine", "scope", "set_backend",
           "set_target"]


class WordError(ValueError, AssertionError):
    """A word that is none of those allowed; an AssertionError too, since that is what trnsparse raises."""


def set_backend(backend):
    """Chooses who computes from now on, in all libraries: 'native', 'simulator', 'neuron', or 'auto' (the environment,
    else a device, else native). 'pytorch' is native; 'nki' is a device when there is one, else the simulator."""
    try:
        shared.set_backend(backend)
    except ValueError as error:
        raise WordError(str(error)) from None


def current_backend():
    """Who would compute a call now: 'native', 'simulator' or 'neuron'."""
    return native.current_backend("SPARSE")


def routine(function=None, *, plain=None):
    """A function with one more argument, `backend`: who computes this call. Where `plain` is given, it takes the
    backend and two arguments and computes a call that has no others, quickly; else it gives None."""
    if function is None:
        return functools.partial(routine, plain=plain)

    @functools.wraps(function)
    def call(*args, backend=None, **kwargs):
        shared.note_precision()
        if plain is not None and len(args) == 2 and not kwargs:
            result = plain(backend, *args)
            if result is not None:
                return result
        with scope(backend), scope(current_backend()):  # so that routines of kiln.blas inside compute there too
            return function(*args, **kwargs)

    signature = inspect.signature(function)
    more = inspect.Parameter("backend", inspect.Parameter.KEYWORD_ONLY, default=None)
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), more])
    return call
