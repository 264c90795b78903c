"""nki.framework.compiled: kernels that a device compile made; there are none here."""

from kiln._trace.errors import not_yet


class CompileKernel:
    """Would hold a NEFF."""

    def __init__(self, *args, **kwargs):
        not_yet(f"nki.framework.compiled.{type(self).__name__}", help="run the kernel with nki.simulate(kernel)(...)")


class StandaloneKernel(CompileKernel):
    """Would run a NEFF without a framework."""
