"""nki.compiler.kernel_builder: the stand-alone compile of the language guide."""

from kiln._trace.errors import not_yet


def compile_kernel(fn, inputs=None, outputs=None, compile_opts=None, **hyperparams):
    """Would make a NEFF."""
    not_yet("nki.compiler.kernel_builder.compile_kernel",
            help="run the kernel with nki.simulate(kernel)(...), or get its program with kiln.program(kernel, ...)")
