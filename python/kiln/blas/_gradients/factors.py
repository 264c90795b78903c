"""Gradients by alpha and beta: routines are linear in them, so they are the product of the gradient of the result with
the result for a factor of one."""

from .. import level1
from .tools import triangle, with_real_diagonal

# What is added to the product and may be left out. In axpy it may not, and is 0 instead.
_ADDENDS = {**dict.fromkeys(("ger", "geru", "gerc", "syr", "syr2", "her", "her2"), "A"),
            **dict.fromkeys(("spr", "spr2", "hpr", "hpr2"), "AP"),
            **dict.fromkeys(("gemv", "symv", "hemv", "gbmv", "sbmv", "hbmv", "spmv", "hpmv"), "y"),
            **dict.fromkeys(("gemm", "batched_gemm", "gemmt", "symm", "hemm", "syrk", "syr2k", "herk", "her2k"), "C")}


def of_factors(call, g, wanted, arguments):
    """Gradients of alpha and beta, as far as they are wanted."""
    makers = {"alpha": _of_alpha, "beta": _of_beta}
    return {name: _like(makers[name](call, g, arguments), arguments[name]) for name in wanted}


def _like(value, factor):
    return (value if factor.is_complex() else value.real).to(factor.dtype).reshape(factor.shape)


def _of_alpha(call, g, arguments):
    rest = dict(arguments)
    if call.name == "axpy":
        rest["y"] = arguments["y"] * 0
    if call.name in _ADDENDS:
        rest[_ADDENDS[call.name]] = None
    if "beta" in rest:
        rest["beta"] = 0.0
    if call.name not in ("her2", "hpr2", "her2k") or not g.is_complex():
        return level1.dotc(call.routine(**{**rest, "alpha": 1.0}), g)
    parts = [level1.dotc(call.routine(**{**rest, "alpha": unit}), g).real for unit in (1.0, 1j)]
    return parts[0] + 1j * parts[1]  # of alpha M + conj(alpha) M^H


def _of_beta(call, g, arguments):
    if call.name == "gemmt" or not arguments.get("full", True):
        g = triangle(g, arguments["uplo"])  # the other triangle is not scaled
    if call.name in ("herk", "her2k"):
        g = with_real_diagonal(g)
    return level1.dotc(call.routine(**{**arguments, "alpha": 0.0, "beta": 1.0}), g)
