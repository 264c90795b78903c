"""nki.compiler.frontend: the names of the two front ends; `kiln check kernel.py` says what each would refuse."""

from kiln._trace.errors import not_yet


class NKIFrontend:
    """What the front ends have in common."""

    def compile(self, *args, **kwargs):
        """Would make a NEFF."""
        not_yet(f"nki.compiler.frontend.{type(self).__name__}.compile",
                help="run the kernel with nki.simulate(kernel)(...), or check it with `kiln check`")


class ParserFrontend(NKIFrontend):
    """Reads the kernel's source."""


class TracerFrontend(NKIFrontend):
    """Runs the kernel's Python."""


def resolve_frontend_cls(*args, **kwargs):
    """The front end that Kiln itself works like."""
    return TracerFrontend
