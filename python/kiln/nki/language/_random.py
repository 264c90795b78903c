"""nl.rand and nl.random_seed."""

from kiln import _kiln
from kiln._trace import memory, rules, views
from kiln._trace.errors import refuse
from kiln.nki import isa as nisa
from kiln.nki.language import _creation, _tiles
from kiln.nki.language._tokens import token

__all__ = ["rand", "random_seed"]

# Bits that a float of each dtype holds. Numbers are drawn so that rounding to them never makes a 1.
_BITS = {"float32": 24, "tfloat32": 11, "float16": 11, "bfloat16": 8,
         "float8_e4m3": 4, "float8_e4m3fn": 4, "float8_e5m2": 3}


def rand(shape, dtype, buffer=memory.sbuf, name=""):
    """Uniform random numbers from 0 to below 1."""
    result = _kiln.new_tensor(shape, dtype, buffer, name or "")
    if result.dtype not in _BITS:
        refuse(rules.ARGUMENT_KIND, f"nl.rand of {result.dtype}", "numbers from 0 to below 1 need a float dtype")
    if memory.is_on_chip(result.buffer):
        _fill(result)
    else:
        _creation.fill_hbm(result, _fill, again=True)
    return result


def _fill(tile):
    count = _BITS[tile.dtype]
    if nisa.get_nc_version() >= nisa.nc_version.gen4:
        nisa.rand2(tile, 0.0, 1.0 if count == 24 else 1.0 - 2.0**-(count + 1))
        return
    bits = _tiles.scratch(tile.shape, "uint32")
    nisa.rng(bits)
    nisa.tensor_scalar(bits, bits, token("right_shift"), 32 - count)
    nisa.tensor_scalar(tile, bits, token("multiply"), 2.0**-count)


def random_seed(seed):
    """Seeds the random numbers of the vector engine from a (1, 1) tile of 32 bits."""
    if not _tiles.is_tile(seed):
        refuse(rules.ARGUMENT_KIND, f"nl.random_seed of a {type(seed).__name__}",
               "pass a (1, 1) tile: nl.random_seed(nl.full((1, 1), 42, nl.int32))")
    _tiles.require_tile("random_seed", seed)
    if views.size(seed) != 1:
        refuse(rules.TILE_LAYOUT, f"nl.random_seed of shape {seed.shape}", "pass a (1, 1) tile")
    nisa.set_rng_seed(seed)
