"""The chip that a command takes kernels for."""

import contextlib
import os

from kiln import _kiln
from kiln._trace import env

ALL = "all"
_VARIABLE = env.TARGET_VARIABLES[0]


def use(name):
    """Makes kernels be built for this chip from now on."""
    if name:
        os.environ[_VARIABLE] = name


@contextlib.contextmanager
def chosen(name):
    """Kernels are built for this chip meanwhile; None or "" leaves things as they are."""
    before = os.environ.get(_VARIABLE)
    use(name)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = before


def asked_for(name):
    """The chips that --target asks for, None for the one that the environment says."""
    return list(_kiln.chips) if name == ALL else [name]


def others():
    """All chips but the one that kernels are built for, the newest first."""
    return [name for name in reversed(_kiln.chips) if name != env.target()]
