"""sin, cos and tan of any argument: the activation is valid from -pi to pi only."""

import math

import numpy as np

from kiln.nki import isa as nisa
from kiln.nki.language import _tiles
from kiln.nki.language._tokens import token

_PI = float(np.float32(math.pi))
# 2 pi in three parts. The first two have few bits, so that their products with small integers are exact.
_TURN = (6.28125, 2029 / 2**20, 2 * math.pi - 6.28125 - 2029 / 2**20)
_ROUND = 1.5 * 2**23  # adding and subtracting it rounds small numbers to integers


def _subtract_turns(angle, x, parts):
    """angle = x without its whole turns, each a sum of parts."""
    turns = _tiles.scratch(x.shape, "float32")
    nisa.tensor_scalar(turns, x, token("multiply"), 1 / (2 * math.pi), op1=token("add"), operand1=_ROUND)
    nisa.tensor_scalar(turns, turns, token("subtract"), _ROUND)
    for part in parts:
        nisa.scalar_tensor_tensor(angle, turns, token("multiply"), -part, token("add"), x)
        x = angle


def _sine(x, phase, dtype):
    """sin(x + phase). Of large x the turns are off by a little; what is left of them goes in a second step."""
    angle = _tiles.scratch(x.shape, "float32")
    _subtract_turns(angle, x, _TURN)
    if phase:
        nisa.tensor_scalar(angle, angle, token("add"), phase)
    _subtract_turns(angle, angle, [2 * math.pi])
    nisa.tensor_scalar(angle, angle, token("minimum"), _PI, op1=token("maximum"), operand1=-_PI)
    dst = _tiles.like(x, dtype)
    nisa.activation(dst, token("sin"), angle)
    return dst


def sin(x, dtype=None):
    """sin(x), elementwise, for every x: the argument is reduced to -pi ... pi first."""
    _tiles.require_tile("sin", x)
    return _sine(x, 0.0, dtype)


def cos(x, dtype=None):
    """cos(x), elementwise."""
    _tiles.require_tile("cos", x)
    return _sine(x, math.pi / 2, dtype)


def tan(x, dtype=None):
    """tan(x), elementwise: sin over cos."""
    _tiles.require_tile("tan", x)
    below = _sine(x, math.pi / 2, "float32")
    nisa.reciprocal(below, below)
    dst = _tiles.like(x, dtype)
    nisa.tensor_tensor(dst, _sine(x, 0.0, "float32"), below, token("multiply"))
    return dst


FUNCTIONS = {"sin": sin, "cos": cos, "tan": tan}
