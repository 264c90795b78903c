"""Names that older NKI had and 0.6.0 has not, with what to write instead. The documentation walks the tables too."""

from kiln import _kiln
from kiln._errors import NkiValidationError

# nki.language: name -> rewrite.
LANGUAGE = {
    "all_reduce": "nki.collectives.all_reduce(srcs, dsts, replica_group, op)",
    "arange": "slices, t[0:128, 4:8], or an explicit pattern, t.ap(pattern=[[step, num], ...])",
    "atomic_rmw": "nisa.dma_compute(dst, [dst, src], reduce_op=nl.add)",
    "cast": "nl.copy(x, dtype=nl.float32)",
    "fp32": "the number: -3.4028235e38 for nl.fp32.min",
    "loop_reduce": "nisa.nc_matmul(..., accumulate=True) over one PSUM tile, or nl.add into a tile that lives outside "
                   "the loop",
    "mgrid": "slices, t[0:128, 4:8], or an explicit pattern, t.ap(pattern=[[step, num], ...])",
    "nc": "kernel[2](...): the launch grid is one int, the number of cores",
    "par_dim": "the size alone, (128, 512): dimension 0 of a tile is the partition dimension; fold blocks into the "
               "free dimensions, (128, blocks, 512), or keep a list of tiles",
    "simulate_kernel": "nki.simulate(kernel)(...)",
    "spmd_dim": "kernel[2](...): the launch grid is one int, the number of cores",
    "static_cast": "nl.copy(x, dtype=nl.float32); for the same bits x.view(nl.float32)",
}

# Methods and attributes of tensors: name -> rewrite.
TENSOR = {
    "T": "nl.transpose(x) for a tile, nl.load_transpose2d(x) from HBM, x.permute((1, 0)) for a view of HBM",
    "astype": "nl.copy(x, dtype=nl.float32)",
    "broadcast_to": "nl.broadcast_to(x, shape), or the view x.broadcast(dim, size)",
}


class NkiRemovedError(NkiValidationError, AttributeError):
    """A name that NKI no longer has; hasattr sees that it is missing."""


def missing(table, name, spelled, owner):
    """The exception for an attribute that `owner` lacks."""
    if name not in table:
        return AttributeError(f"{owner} has no attribute {name!r}")
    return NkiRemovedError([_kiln.diagnostic(
        "invalid", "nki.R36", "names of older NKI are gone in 0.6.0", f"`{spelled}`", f"write {table[name]}")])
