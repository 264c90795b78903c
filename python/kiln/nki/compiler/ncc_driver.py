"""nki.compiler.ncc_driver: options and results of a device compile, as far as harnesses name them."""

from kiln._trace.errors import not_yet


class CompileOptions:
    """Keeps what it is given."""

    def __init__(self, **options):
        self.__dict__.update(options)


class CompiledKernel:
    """Would hold a NEFF."""

    def __init__(self, *args, **kwargs):
        not_yet("nki.compiler.ncc_driver.CompiledKernel", help="run the kernel with nki.simulate(kernel)(...)")
