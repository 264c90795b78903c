"""Kiln: whether a Trainium kernel is legal, what it computes, how long it takes and why, without a Trainium.

``kiln.nki`` is the ``nki`` package; ``kiln.activate()`` makes it importable under that name.
"""

import importlib

# Where each public name lives; modules are loaded when a name is first used.
_PUBLIC = {
    "NkiConfigError": "kiln._trace.errors",
    "NkiNotYetError": "kiln._trace.errors",
    "NkiUndefinedError": "kiln._trace.errors",
    "NkiValidationError": "kiln._trace.errors",
    "Spec": "kiln._program",
    "__version__": "kiln._kiln",
    "activate": "kiln._activate",
    "benchmark": "kiln._time",
    "blas": "kiln.blas",
    "check": "kiln._check",
    "compare": "kiln._compare",
    "cond": "kiln.numpy._functions",
    "deactivate": "kiln._activate",
    "emit": "kiln._emit",
    "fori_loop": "kiln.numpy._functions",
    "jit": "kiln.numpy._jit",
    "nki": "kiln.nki",
    "numpy": "kiln.numpy",
    "per_rank": "kiln._trace.on_ranks",
    "profile": "kiln._time",
    "program": "kiln._program",
    # With `pytest -p kiln` this module itself is the plugin.
    "pytest_load_initial_conftests": "kiln._pytest",
    "ranks": "kiln._trace.on_ranks",
    "scan": "kiln.numpy._functions",
    "time": "kiln._time",
    "tune": "kiln.tune",
    "while_loop": "kiln.numpy._functions",
}

__all__ = [name for name in sorted(_PUBLIC) if not name.startswith(("_", "pytest_"))]


def __getattr__(name):
    if name not in _PUBLIC:
        raise AttributeError(f"module 'kiln' has no attribute {name!r}")
    module = importlib.import_module(_PUBLIC[name])
    value = module if _PUBLIC[name] == f"kiln.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_PUBLIC))
