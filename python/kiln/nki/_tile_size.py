"""nl.tile_size: limits of tiles on the target at hand."""

from kiln._trace import env, version
from kiln.nki import _older
from kiln.nki._changes import CHANGES


def _bank(chip):
    """Elements of a bank of PSUM: it holds float32."""
    return chip.psum_bank_bytes // 4


# Name -> what it is on a chip.
_SIZES = {
    "pmax": lambda chip: chip.partitions,
    "psum_fmax": _bank,
    "psum_bank_fmax": _bank,
    "psum_bank_fmax_bytes": lambda chip: chip.psum_bank_bytes,
    "psum_num_banks": lambda chip: chip.psum_banks - env.reserved_psum_banks(),
    "psum_min_align": lambda chip: 4,
    "sbuf_min_align": lambda chip: 1,
    "sbuf_size_bytes": lambda chip: chip.sbuf_partition_bytes * chip.partitions,
    "sbuf_fmax_bytes": lambda chip: chip.sbuf_available_bytes,
    "sbuf_fmax": lambda chip: chip.sbuf_available_bytes // 4,
    "total_available_sbuf_size": lambda chip: chip.sbuf_available_bytes,
    "gemm_stationary_fmax": lambda chip: chip.matmul_columns,
    "gemm_moving_fmax": _bank,  # whose product fills one
    "bn_stats_fmax": lambda chip: chip.bn_stats_elements,
}
_SINCE = {name: change.since for change in CHANGES for name in change.sizes}


class _TileSize:
    """Plain ints, read for the active target."""

    def __getattr__(self, name):
        if name not in _SIZES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name in _SINCE and not version.at_least(_SINCE[name]):
            _older.missing(f"nl.tile_size.{name}", _SINCE[name])
        return _SIZES[name](env.asked_chip())

    def __dir__(self):
        return sorted([*super().__dir__(), *_SIZES])


tile_size = _TileSize()
