"""kiln.program: what a kernel issues, as a Program to print, save and run."""

from kiln._trace import shown, simulate
from kiln._trace.specs import Spec, of_value  # noqa: F401  (kiln.Spec)
from kiln.nki import Kernel  # and with it what tracing needs to know of NKI


def plain(kernel):
    """The function of a kernel and its number of cores."""
    if not callable(kernel):
        raise TypeError(f"a kernel or a function is needed, not {type(kernel).__name__}")
    return (kernel.func, kernel.lnc) if isinstance(kernel, Kernel) else (kernel, 1)


class Pair(tuple):
    """The programs of the two cores of a logical core."""

    __slots__ = ()

    def __str__(self):
        return "\n".join(map(str, self))

    def _repr_html_(self):
        return "".join(map(shown.program_html, self))

    def save(self, *paths):
        """Writes one file per core: save("core0.kiln", "core1.kiln")."""
        if len(paths) != len(self):
            raise TypeError(f"save() takes {len(self)} paths, one per core; {len(paths)} were given")
        for program, path in zip(self, paths):
            program.save(path)


def program(kernel, *args, **kwargs):
    """The Program that the kernel issues for these arguments; for kernel[2] a pair of them. Arguments are arrays, or
    shapes such as "float32[128,512]": no value is read. The program is not checked: `.check()` does that."""
    function, lnc = plain(kernel)
    args = [of_value(v) for v in args]
    kwargs = {name: of_value(v) for name, v in kwargs.items()}
    programs = [core.program() for core in simulate.trace_cores(function, lnc, args, kwargs)]
    return programs[0] if lnc == 1 else Pair(programs)
