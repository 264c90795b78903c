"""The backend neuron: the program of a kernel as NKI source, run through the package that is installed as nki."""

import ctypes
import functools
import glob
import importlib
import importlib.util
import linecache
import re
import sys
import types

import ml_dtypes
import numpy as np

from kiln import _kiln


def why_not():
    """Why programs cannot be run; '' when they can."""
    if "nki" in sys.modules or importlib.util.find_spec("nki") is not None:
        return ""
    return "no package nki can be imported"


@functools.cache
def _has_node():
    """Whether the system has a device; none comes or goes while a process runs."""
    return bool(glob.glob("/dev/neuron*"))


def has_device():
    """Whether there is a device and the package that drives it, which is not Kiln's own."""
    if not _has_node() or why_not():
        return False
    return not is_kilns(importlib.import_module("nki"))


def is_kilns(package):
    return getattr(package, "__name__", "").startswith("kiln.") or "kiln" in (getattr(package, "__file__", "") or "")


@functools.lru_cache(maxsize=256)
def _kernel(source):
    """The one kernel that a source defines."""
    name = f"<emitted by kiln {abs(hash(source)):x}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)  # packages read the source of kernels
    module = types.ModuleType("kiln_emitted")
    module.__file__ = name
    exec(compile(source, name, "exec"), module.__dict__)
    return getattr(module, re.search(r"^def (\w+)\(", source, re.MULTILINE).group(1))


def _view(told):
    """The memory of an array that the native half told of."""
    dtype = np.dtype(getattr(ml_dtypes, told["dtype"], None) or told["dtype"])
    count = int(np.prod(told["shape"])) * dtype.itemsize
    memory = (ctypes.c_char * count).from_address(told["address"])
    return np.frombuffer(memory, dtype).reshape(told["shape"])


def on_device(kernel, cores, arrays):
    """The kernel's results. With torch_xla, tensors travel to the device and back; else the package takes arrays."""
    kernel = kernel if cores == 1 else kernel[cores]
    if not has_device():
        return kernel(*arrays)
    import torch
    import torch_xla.core.xla_model as xla
    device = xla.xla_device()
    results = kernel(*[torch.from_numpy(np.ascontiguousarray(a)).to(device) for a in arrays])
    results = results if isinstance(results, (tuple, list)) else (results,)
    return tuple(r.cpu().numpy() for r in results)


def run(programs, told):
    """Runs a program, or those of a pair of cores, on arrays; outputs are copied back when all are there."""
    arrays, tensors = {t["name"]: _view(t) for t in told}, programs[0].border
    border = {role: [t["name"] for t in tensors if t["role"] == role] for role in ("input", "inout", "output")}
    inputs = [t["name"] for t in tensors if t["role"] in ("input", "inout")]
    written = [*border["output"], *border["inout"]]
    source = _kiln.emit(programs, outputs=written)
    results = on_device(_kernel(source), len(programs), [arrays[name].copy() for name in inputs])
    results = results if isinstance(results, (tuple, list)) else (results,)
    for name, result in zip(written, results, strict=True):
        arrays[name][...] = np.asarray(result).reshape(arrays[name].shape)


def register():
    _kiln.blas.register_neuron(why_not, has_device, run)
