"""Tensor programs as NumPy users write them, with the shapes of their inputs: a table that the modules beside fill."""

import dataclasses
from collections.abc import Callable

FLOAT32 = "float32"
BOTH = ("bfloat16", FLOAT32)


@dataclasses.dataclass(frozen=True)
class Program:
    """A function of arrays and the shapes that it is measured at. A shape is a tuple, of the program's own dtype, or
    (dtype, tuple)."""

    name: str
    function: Callable
    shapes: tuple
    dtypes: tuple

    def specs(self, dtype):
        """dtype and shape of each input."""
        return [shape if shape and isinstance(shape[0], str) else (dtype, shape) for shape in self.shapes]


PROGRAMS: list[Program] = []


def program(name, *shapes, dtypes=BOTH):
    """Enters a function into the table."""

    def enter(function):
        PROGRAMS.append(Program(name, function, shapes, dtypes))
        return function

    return enter
