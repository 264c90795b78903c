"""kiln.time does what the vendor's compiler does on its own, says so, and leaves it out when asked."""

import pytest

import kiln

kiln.activate()

import nki  # noqa: E402
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402


@pytest.fixture(autouse=True)
def chip(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")


def compiled(timing):
    return timing.as_dict()["compiled"]


@nki.jit
def product(a, b):
    """Loads both operands anew for every product."""
    out = nl.ndarray((a.shape[1], b.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
    for m in range(a.shape[1] // 128):
        for n in range(b.shape[1] // 512):
            total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in range(a.shape[0] // 128):
                x = nl.ndarray((128, 128), dtype=a.dtype)
                y = nl.ndarray((128, 512), dtype=b.dtype)
                nisa.dma_copy(x, a[k * 128:k * 128 + 128, m * 128:m * 128 + 128])
                nisa.dma_copy(y, b[k * 128:k * 128 + 128, n * 512:n * 512 + 512])
                nisa.nc_matmul(total, x, y)
            copy = nl.ndarray((128, 512), dtype=a.dtype)
            nisa.tensor_copy(copy, total)
            nisa.dma_copy(out[m * 128:m * 128 + 128, n * 512:n * 512 + 512], copy)
    return out


@nki.jit
def one_buffer(a):
    """Every pass writes the same tile anew."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 512), dtype=a.dtype)
    for i in range(a.shape[1] // 512):
        nisa.dma_copy(tile, a[:, i * 512:i * 512 + 512])
        nisa.activation(tile, nl.exp, tile)
        nisa.dma_copy(out[:, i * 512:i * 512 + 512], tile)
    return out


@nki.jit
def constants(a):
    """Products with numbers, whose engine is open, beside work of the vector engine."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.ndarray(a.shape, dtype=a.dtype)
    nisa.dma_copy(x, a)
    z = nl.ndarray(a.shape, dtype=a.dtype)
    for i in range(16):
        part = slice(i * 128, i * 128 + 128)
        y = nl.ndarray((128, 128), dtype=a.dtype)
        nisa.tensor_scalar(y, x[:, part], nl.multiply, 2.0)
        nisa.tensor_tensor(z[:, part], x[:, part], y, nl.add)
    nisa.dma_copy(out, z)
    return out


@nki.jit
def loads_first(a):
    """Loads the tile that is used first last."""
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    tiles = []
    for i in range(24):
        tiles.append(nl.ndarray((128, 512), dtype=a.dtype))
        nisa.dma_copy(tiles[i], a[:, i * 512:i * 512 + 512])
    total = tiles[23]
    for i in range(22, -1, -1):
        following = nl.ndarray((128, 512), dtype=a.dtype)
        nisa.tensor_tensor(following, total, tiles[i], nl.add)
        total = following
    nisa.dma_copy(out, total)
    return out


@nki.jit
def neighbours(a):
    """Sums of three neighbours, one by one, in blocks of 64."""
    out, x = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm), nl.ndarray(a.shape, dtype=a.dtype)
    nisa.dma_copy(x, a)
    y = nl.ndarray((128, 512), dtype=a.dtype)
    for block in nl.affine_range(8):
        for i in nl.affine_range(64):
            at = block * 64 + i
            nisa.tensor_reduce(y[:, at:at + 1], nl.add, x[:, at:at + 3], axis=1)
    nisa.dma_copy(out, y)
    return out


@nki.jit
def padded(a):
    """Rows between zeros: each tile is filled, loaded and worked on."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in range(8):
        x, y = nl.zeros((128, 1026), dtype=a.dtype), nl.ndarray((128, 1024), dtype=a.dtype)
        nisa.dma_copy(x[:, 1:1025], a[i * 128:i * 128 + 128, :])
        nisa.tensor_tensor(y, x[:, 0:1024], x[:, 2:1026], nl.add)
        nisa.dma_copy(out[i * 128:i * 128 + 128, :], y)
    return out


@nki.jit
def products(a):
    """Two statements per pass: a product of three elements, and its sum."""
    out, x = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm), nl.ndarray(a.shape, dtype=a.dtype)
    nisa.dma_copy(x, a)
    y = nl.ndarray((128, 512), dtype=a.dtype)
    for block in nl.affine_range(8):
        for i in nl.affine_range(64):
            at, z = block * 64 + i, nl.ndarray((128, 3), dtype=a.dtype)
            nisa.tensor_tensor(z, x[:, at:at + 3], x[:, 0:3], nl.multiply)
            nisa.tensor_reduce(y[:, at:at + 1], nl.add, z, axis=1)
    nisa.dma_copy(out, y)
    return out


@nki.jit
def too_large(a):
    """Twelve tiles of 32 KiB per partition, each needed again when the sum of all is known."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    tiles, total = [], nl.zeros((128, 8192), dtype=a.dtype)
    for i in range(12):
        tiles.append(nl.ndarray((128, 8192), dtype=a.dtype))
        nisa.dma_copy(tiles[i], a[:, i * 8192:i * 8192 + 8192])
        nisa.activation(tiles[i], nl.exp, tiles[i])
        nisa.tensor_tensor(total, total, tiles[i], nl.add)
    for i in range(12):
        nisa.tensor_tensor(tiles[i], tiles[i], total, nl.multiply)
        nisa.dma_copy(out[:, i * 8192:i * 8192 + 8192], tiles[i])
    return out


CASES = [
    ("hoist", product, ("bfloat16[512,512]", "bfloat16[512,1024]")),
    ("rename", one_buffer, ("float32[128,8192]",)),
    ("balance", constants, ("float32[128,2048]",)),
    ("merge", neighbours, ("float32[128,514]",)),
    ("order", loads_first, ("float32[128,12288]",)),
]


@pytest.mark.parametrize("name, kernel, shapes", CASES, ids=[c[0] for c in CASES])
def test_a_pass_gains_time_and_is_listed(name, kernel, shapes):
    others = [other for other, _, _ in CASES if other != name]
    with_it = kiln.time(kernel, advice=False, without=others)(*shapes)
    without = kiln.time(kernel, advice=False, as_written=True)(*shapes)
    assert compiled(with_it) and not compiled(without)
    assert f"as the vendor's compiler would: {compiled(with_it)}" in str(with_it)
    assert with_it.latency_us < without.latency_us


def test_left_out_passes_change_nothing():
    shapes = CASES[0][2]
    every = [name for name, _, _ in CASES]
    left_out = kiln.time(product, advice=False, without=every)(*shapes)
    assert left_out.latency_us == kiln.time(product, advice=False, as_written=True)(*shapes).latency_us


def engine(timing, name):
    return next(e for e in timing.as_dict()["engines"] if e["name"] == name)


def test_merged_statements_do_not_wait_for_each_other_pass_by_pass():
    """512 products and sums as 8 instructions of each: the vector engine hardly waits between them."""
    with_it = kiln.time(products, advice=False, without=["balance"])("float32[128,514]")
    vector = engine(with_it, "vector")
    assert "1024 small instructions merged" in compiled(with_it)
    span = with_it.latency_us * 1e3
    assert vector["busy_ns"] < 1024 * 10
    assert span < vector["busy_ns"] + 8000  # the load, the store, and the pass at each end


def test_how_long_a_merged_loop_may_be_is_a_what_if():
    shapes = ("float32[128,514]",)

    def merged(**options):
        return "merged" in compiled(kiln.time(products, advice=False, **options)(*shapes))

    assert merged() and merged(what_if="merged_passes=64")
    assert not merged(what_if="merged_passes=63")  # the loop of 8 passes around it is not innermost
    for wrong in ("merged_passes=2x", "merged_passes=0", "merged_passes="):
        with pytest.raises(kiln.NkiValidationError, match="number of passes"):
            kiln.time(products, what_if=wrong)(*shapes)


def test_fills_go_to_gpsimd_when_the_vector_engine_is_busy():
    timing = kiln.time(padded, advice=False)("float32[1024,1024]")
    assert "moved to another engine" in compiled(timing)
    assert engine(timing, "gpsimd")["busy_ns"] > 0
    assert engine(kiln.time(padded, advice=False, as_written=True)("float32[1024,1024]"), "gpsimd")["busy_ns"] == 0


def test_an_unknown_pass_is_named():
    with pytest.raises(Exception, match="no pass `fuse`"):
        kiln.time(product, without="fuse")(*CASES[0][2])


def test_an_operand_that_does_not_fit_is_loaded_again():
    """b takes 256 KiB per partition and cannot stay in SBUF; a takes 32 KiB and can."""
    timing = kiln.time(product, advice=False)("bfloat16[8192,256]", "bfloat16[8192,2048]")
    hbm = timing.as_dict()["summary"]["hbm_read_bytes"]
    assert hbm == 2 * (8192 * 256 + 2 * 8192 * 2048)


def test_static_descriptors():
    shapes = ("float32[128,12288]",)
    assert kiln.time(loads_first, disable_dge=True)(*shapes).latency_us < kiln.time(loads_first)(*shapes).latency_us


def test_spills_are_counted_and_check_refuses():
    with pytest.raises(Exception, match="more than there are"):
        kiln.time(too_large)("float32[128,98304]")
    timing = kiln.time(too_large, spill=True, advice=False)("float32[128,98304]")
    assert "spills" in compiled(timing)
    moved = timing.as_dict()["summary"]["dma_transfer_total_bytes"]
    assert moved > 2 * 128 * 98304 * 4
