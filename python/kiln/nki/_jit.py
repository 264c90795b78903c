"""nki.jit and nki.simulate."""

import dataclasses
import warnings

from kiln import _kiln
from kiln._trace import env, rules
from kiln._trace.errors import refuse
from kiln._trace.kernel import Kernel
from kiln._trace.warnings import NkiWarning


def jit(fn=None, **kwargs):
    """Makes a Kernel of a function: @nki.jit, @nki.jit() or nki.jit(f)."""
    if "platform_target" in kwargs:
        refuse(rules.NO_PLATFORM_TARGET, f"platform_target={kwargs['platform_target']!r}")
    for name in kwargs:  # kernels still carry options of older compilers
        warnings.warn(f"nki.jit ignores {name}=", NkiWarning, stacklevel=2)
    if fn is None:
        return jit
    if not callable(fn):
        raise TypeError(f"nki.jit takes a function, not {type(fn).__name__}")
    return fn if isinstance(fn, Kernel) else Kernel(fn)


def simulate(kernel, *, nan=None, ranks=None):
    """A callable that runs a kernel (or a plain function) on Kiln's machine with NumPy or torch arrays. nan: "error",
    "warn" or "off" for the first NaN or infinity that an instruction makes of numbers; otherwise as KILN_NAN says.
    ranks: on so many ranks, which meet in nki.collectives; arguments that are kiln.per_rank([...]) differ from rank to
    rank, and a list comes back with what each rank returns."""
    if not callable(kernel):
        raise TypeError(f"nki.simulate takes a kernel or a function, not {type(kernel).__name__}")
    if nan not in (None, *_kiln.nan_modes):
        refuse(rules.NAN_MODE, f"nan={nan!r}", modes=", ".join(_kiln.nan_modes))
    kernel = kernel if isinstance(kernel, Kernel) else Kernel(kernel)
    if ranks is not None:
        env.require_ranks(ranks, f"ranks={ranks!r}")
        kernel = dataclasses.replace(kernel, ranks=ranks)
    return kernel if nan is None else dataclasses.replace(kernel, nan=nan)


def cpu_simulate(kernel):
    """nki.simulate under the name that nki-library's tests use: cpu_simulate(kernel)[lnc](**inputs)."""
    return simulate(kernel)
