"""The rules that nki.language itself has; those of the instructions are checked where they are issued."""

from kiln._trace.errors import refuse
from kiln._trace.warnings import warn_not_portable

TILE = ("nki.R27", "operands of nl functions are tiles in SBUF or PSUM")
SHAPES = ("nki.R28", "operands have equal shapes, or one of them is a number or a (P, 1) tile")
DTYPES = ("nki.R29", "operands of two dtypes need dtype=")
AXES = ("nki.R30", "reductions take the last free dimensions, never the partition dimension")
HBM = ("nki.R31", "nl.load, nl.store and nl.load_transpose2d move between HBM and SBUF")
LAYOUT = ("nki.R32", "a tile has two dimensions or more and at most 128 partitions, and shapes fit the function")
NUMBER = ("nki.R33", "the argument has the kind that the function documents")

__all__ = ["AXES", "DTYPES", "HBM", "LAYOUT", "NUMBER", "SHAPES", "TILE", "refuse", "warn_not_portable"]
