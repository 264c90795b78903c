"""Gradients of routines, by routines: a function under the name of each routine. It takes the gradient of the result
(a tuple where there are several results), the result, the names of the arguments whose gradient is wanted, and the
arguments; it returns gradients by name. All are torch tensors. Gradients by alpha and beta stand in factors.py."""

from . import band, level1, level2, level3, mp2, packed
from .factors import of_factors

_MODULES = (level1, level2, band, packed, level3, mp2)


def gradient_of(name):
    """The function for a routine; None where it has no gradient."""
    return next((getattr(m, name) for m in _MODULES if hasattr(m, name)), None)


def gradients(call, g, result, wanted, arguments):
    """Gradients by name of a routine's call (see _autograd._Call) for the arguments that want one."""
    factors = wanted & {"alpha", "beta"} if call.name != "sdsdot" else set()
    found = gradient_of(call.name)(g, result, wanted - factors, **arguments) if wanted - factors else {}
    return {**found, **of_factors(call, g, factors, arguments)}
