"""Which Python loops of a kernel made its instructions: a traced kernel has one for every pass."""

import ast
import collections
import linecache

from kiln._trace import rules
from kiln._trace.errors import broken, make_error

_MOST_LOOPS = 6  # that are told
_LEAST_SHARE = 0.1  # of all instructions, for a loop to be told
_NEARLY_ALL = 0.9
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _loops_of(file):
    """(first line, last line) of every loop of a file, outer ones first."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return []
    return sorted({(n.lineno, n.end_lineno) for n in ast.walk(tree) if isinstance(n, _LOOPS)},
                  key=lambda span: (span[0], -span[1]))


class _Loops:
    """Instructions, passes and depth by loop, as (file, line)."""

    def __init__(self, trace):
        self.instructions, self.passes, self.depth = collections.Counter(), collections.Counter(), {}
        self._spans = {}  # file -> its loops
        for file, line, callers, count in trace.places():
            frames = [*map(_split, reversed(callers)), (file, line)]
            around = dict.fromkeys(loop for frame in frames for loop in self._around(*frame))
            for depth, loop in enumerate(around):
                self.instructions[loop] += count
                self.passes[loop] = max(self.passes[loop], count)
                self.depth[loop] = depth

    def _around(self, file, line):
        if file not in self._spans:
            self._spans[file] = _loops_of(file)
        return [(file, first) for first, last in self._spans[file] if first <= line <= last]

    def largest(self, least):
        """Those of so many instructions at least, outer ones first."""
        places = [place for place, count in self.instructions.most_common(_MOST_LOOPS) if count >= least]
        return sorted(places, key=self.depth.get)


def _split(place):
    file, _, line = place.rpartition(":")
    return file, int(line)


def too_many(trace, found, help):
    """The exception for a kernel of too many instructions: names the loops that made most of them."""
    loops = _Loops(trace)
    largest = loops.largest(_LEAST_SHARE * trace.instructions)
    place = None
    if largest:
        # The loops of a nest share their instructions: the innermost one that has nearly all of them is meant.
        most = max(loops.instructions.values())
        place = [loop for loop in largest if loops.instructions[loop] >= _NEARLY_ALL * most][-1]
        found += f"; the loop at {place[0]}:{place[1]} unrolled to {loops.instructions[place]} of them"
    diagnostic = broken(rules.BOUNDED_SIZE, found, help, at=place)
    for loop in largest:
        diagnostic.add_note(f"a loop of {loops.instructions[loop]} instructions; one line of it was traced "
                            f"{loops.passes[loop]} times", *loop)
    return make_error([diagnostic])
