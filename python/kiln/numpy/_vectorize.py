"""Calls of np.vectorize: a function of numbers is one of arrays where it makes the same program of both."""

import re

import numpy as np

from kiln.numpy._array import Array, as_array
from kiln.numpy._control import BodyTrace
from kiln.numpy._rules import ARGUMENT, refuse

_MOST = 1024  # elements that are computed one by one
_OP = re.compile(r" = (\w+)\(")


def call(vectorized, args, kwargs):
    """vectorized(*args, **kwargs), an object of np.vectorize."""
    if vectorized.signature is not None:
        return _with_signature(vectorized, args, kwargs)
    excluded = vectorized.excluded
    places = [i for i in range(len(args)) if i not in excluded] + [k for k in kwargs if k not in excluded]
    given = dict(enumerate(args)) | kwargs
    arrays = [as_array(given[place]) for place in places]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))

    def function(*values):
        now = given | dict(zip(places, values))
        return vectorized.pyfunc(*(now[i] for i in range(len(args))), **{k: now[k] for k in kwargs})

    if _ops(function, [()] * len(arrays), arrays) == _ops(function, [a.shape for a in arrays], arrays):
        made = function(*arrays)
        is_tuple = isinstance(made, tuple)
        made = [np.broadcast_to(as_array(m), shape).copy() for m in (made if is_tuple else (made,))]
    else:
        is_tuple, made = _one_by_one(function, [np.broadcast_to(a, shape) for a in arrays], shape)
    made = [_typed(m, vectorized.otypes, i) for i, m in enumerate(made)]
    return tuple(made) if is_tuple else made[0]


def _typed(made, otypes, i):
    return made if otypes is None else made.astype(np.dtype(otypes[i]))


def _ops(function, shapes, arrays):
    """The ops that a function of arrays of these shapes becomes; those that shapes alone ask for are left out."""
    trace = BodyTrace("vectorized", [(a._get().dtype, shape) for a, shape in zip(arrays, shapes)])
    with trace:
        made = function(*map(Array, trace.inside))
        for m in made if isinstance(made, tuple) else (made,):
            as_array(m)._get()
    found = _OP.findall(str(trace.graph))
    return [op for op in found if op not in ("input", "constant", "broadcast_to")]


def _one_by_one(function, arrays, shape):
    size = int(np.prod(shape))
    if size > _MOST:
        refuse(ARGUMENT, f"np.vectorize of a function that is not elementwise, over {size} elements",
               "write it with functions of whole arrays, or call it in kiln.fori_loop")
    made = [function(*(a[index] for a in arrays)) for index in np.ndindex(*shape)]
    is_tuple = bool(made) and isinstance(made[0], tuple)
    columns = list(zip(*made)) if is_tuple else [made]
    return is_tuple, [np.stack([as_array(m) for m in column]).reshape(shape + as_array(column[0]).shape)
                      for column in columns]


def _with_signature(vectorized, args, kwargs):
    """Each call gets the last dimensions that the signature names; they are unrolled."""
    ins, outs = re.sub(r"\s", "", vectorized.signature).split("->")
    inner = [[d for d in core.split(",") if d] for core in re.findall(r"\(([^)]*)\)", ins)]
    if len(inner) != len(args) or kwargs or vectorized.excluded:
        refuse(ARGUMENT, "np.vectorize(signature=, excluded=) and keywords", "pass every argument by its place")
    arrays = [as_array(a) for a in args]
    outer = [a.shape[:a.ndim - len(core)] for a, core in zip(arrays, inner)]
    shape = np.broadcast_shapes(*outer)
    arrays = [np.broadcast_to(a, shape + a.shape[a.ndim - len(core):]) for a, core in zip(arrays, inner)]
    many = len(re.findall(r"\(", outs)) > 1
    size = int(np.prod(shape))
    if not 0 < size <= _MOST:
        refuse(ARGUMENT, f"np.vectorize(signature=...) over {size} calls",
               "write it with functions of whole arrays, or call it in kiln.scan")
    made = [vectorized.pyfunc(*(a[index] for a in arrays)) for index in np.ndindex(*shape)]
    columns = list(zip(*made)) if many else [made]
    stacked = [np.stack([as_array(m) for m in column]) for column in columns]
    stacked = [_typed(m.reshape(shape + m.shape[1:]), vectorized.otypes, i) for i, m in enumerate(stacked)]
    return tuple(stacked) if many else stacked[0]
