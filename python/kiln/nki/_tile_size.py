"""nl.tile_size: limits of tiles on the target at hand."""

from kiln import _kiln
from kiln._trace import env
from kiln.nki import _older


class _TileSize:
    """Plain ints, read for the active target."""

    pmax = 128
    psum_fmax = psum_bank_fmax = 512
    psum_bank_fmax_bytes = 2048
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512
    bn_stats_fmax = 512
    psum_min_align = 4
    sbuf_min_align = 1

    @property
    def psum_num_banks(self):
        return 8 - env.reserved_psum_banks()

    @property
    def _memory(self):
        trace = _kiln.active_trace()
        return _kiln.sbuf_bytes({2: "trn1", 3: "trn2", 4: "trn3"}[trace.generation] if trace is not None else env.target())

    @property
    def sbuf_size_bytes(self):
        return self._memory[0] * self.pmax

    @property
    def sbuf_fmax_bytes(self):
        return self._memory[1]

    @property
    def total_available_sbuf_size(self):
        return self._memory[1]

    @property
    def sbuf_fmax(self):
        return self._memory[1] // 4


tile_size = _TileSize()
