"""kiln.nki.api_version: every row of the table of changes, before and since."""

import warnings

import ml_dtypes
import numpy as np
import pytest

import kiln
from kiln import nki
from kiln._trace.version import KNOWN
from kiln.lint.signatures import NEW_NAMES
from kiln.nki import _changes
from kiln.nki import isa as nisa
from kiln.nki import language as nl

X = np.arange(32, dtype=np.float32).reshape(4, 8)


@pytest.fixture
def version():
    yield nki.api_version
    nki.api_version(KNOWN[-1])


def runs(kernel, *args, target="trn3"):
    """A probe: what a kernel returns, or the first line of what it is told."""
    def probe(monkeypatch):
        monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target)
        try:
            result = nki.simulate(kernel)(*(a.copy() for a in args))
        except kiln.NkiValidationError as error:
            return error.diagnostics[0].found
        return np.asarray(result, np.float64).tolist()

    return probe


def stored(tile):
    """A tensor that a kernel can return, with the tile's elements."""
    out = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


def quantised(x):
    packed = nl.ndarray((32, 1), dtype=nl.float8_e4m3fn_x4)
    scale = nl.ndarray((4, 1), dtype=nl.uint8)
    nisa.quantize_mx(packed, nl.load(x), scale)
    out = nl.ndarray((4, 33), dtype=nl.uint8, buffer=nl.shared_hbm)
    nisa.dma_copy(out[:, 0:1], scale)
    nisa.dma_copy(out[:, 1:33], packed.view(nl.uint8))
    return out


def thirds(x):
    t = nl.load(x)
    nisa.tensor_scalar(t, t, nl.add, 1.0, op1=nl.multiply, operand1=3.0)
    nisa.tensor_scalar(t, t, nl.subtract, 1.0)
    return stored(t)


def squares(x):
    t = nl.load(x)
    nisa.tensor_scalar(t, t, nl.square, 0.0)
    return stored(t)


def copied(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, x, nisa.oob_mode.error)
    return out


def transposed_by_position(x):
    t = nl.ndarray((x.shape[1], x.shape[0]), dtype=x.dtype)
    nisa.dma_transpose(t, x, (1, 0), nisa.dge_mode.none)
    return stored(t)


def computed(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_compute(out, [x, x], nl.add, oob_mode=nisa.oob_mode.error)
    return out


def reduced(x, **options):
    t, r = nl.load(x), nl.ndarray((x.shape[0], 1), dtype=nl.float32)
    nisa.tensor_scalar_reduce(t, t, nl.add, 1.0, nl.add, r, **options)
    return stored(r)


def product(x, dtype=nl.float32):
    p = nl.ndarray((x.shape[1], x.shape[1]), dtype=nl.float32, buffer=nl.psum)
    t = nl.load(x)
    nisa.nc_matmul(p, t, t)
    return stored(nl.add(p, 0.0))


def transposed_into_three(x):
    t = nl.ndarray((x.shape[1], 1, x.shape[0]), dtype=x.dtype)
    nisa.dma_transpose(t, x)
    return stored(t)


def transposed_on_vector(x):
    p = nl.ndarray((x.shape[1], x.shape[0]), dtype=x.dtype, buffer=nl.psum)
    nisa.nc_transpose(p, nl.load(x), engine=nisa.engine.vector)
    return stored(nl.add(p, 0.0))


@nki.jit
def exchanged(x):
    me = nl.program_id(0)
    out = nl.ndarray((2, *x.shape), dtype=x.dtype, buffer=nl.shared_hbm)
    mine, theirs = nl.load(x), nl.ndarray(x.shape, dtype=x.dtype)
    nisa.sendrecv(mine, theirs, 1 - me, 1 - me, 0)
    nisa.dma_copy(out[me], theirs)
    return out


def rows_by_variable(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.dynamic_range(x.shape[0]):
        row = nl.ndarray((1, x.shape[1]), dtype=x.dtype)
        pattern = [[x.shape[1], 1], [1, x.shape[1]]]
        nisa.dma_copy(row, x.ap(pattern=pattern, scalar_offset=i))
        nisa.dma_copy(out.ap(pattern=pattern, scalar_offset=i), row)
    return out


def permuted(x):
    return stored(nl.load(x.permute((1, 0))))


def reshaped_to_less(x):
    return stored(nl.load(x.reshape((2, 3))))


def multiplied(x):
    return stored(nl.add(nl.matmul(nl.load(x[:, 0:4]), nl.load(x)), 0.0))


def wide_product(x):
    p = nl.ndarray((2, 16, 512), dtype=nl.bfloat16, buffer=nl.psum)
    t, wide = nl.zeros((4, 2), nl.bfloat16), nl.zeros((4, 16, 512), nl.bfloat16)
    nisa.nc_matmul(p, t, wide)
    return stored(nl.add(p[:, 0, 0:2], 0.0))


def root_of_psum(x):
    p = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.psum)
    nisa.tensor_copy(p, nl.full(x.shape, 4.0, nl.float32))
    return stored(nl.rsqrt(p))


def copied_tile(x):
    return stored(nl.copy(nl.load(x)))


def result_of_a_call(x):
    t = nl.load(x)
    made = nisa.tensor_copy(t, t)
    return stored(nl.full((1, 1), 0.0 if made is None else 1.0, nl.float32))


def reduced_into_nothing(x):
    t = nl.load(x)
    nisa.tensor_scalar_reduce(t, t, nl.add, 1.0, nl.add)
    return stored(t)


def transposed_by_hardware(x):
    t = nl.ndarray((64, 4, 4), dtype=nl.bfloat16)
    nisa.dma_transpose(t, x, dge_mode=nisa.dge_mode.hwdge)
    return stored(t)


def deprecations(monkeypatch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DeprecationWarning)
        runs(rows_by_variable, X)(monkeypatch)
    return [str(w.message).split(" is ")[0] for w in caught if w.category is DeprecationWarning]


def names(*wanted):
    def probe(monkeypatch):
        return [hasattr(getattr(nki, module), name) for module, name in wanted]

    return probe


def size_names(monkeypatch):
    try:
        return [getattr(nl.tile_size, n) > 0 for n in _changes._BYTES]
    except kiln.NkiValidationError as error:
        return error.diagnostics[0].found


FULL = np.asarray(X, np.float64).tolist()
SUMS = (X + 1).sum(axis=1, keepdims=True).tolist()
THIRD = np.full((1, 1), 1 / 3, ml_dtypes.bfloat16)
BIG = np.array([[2**24 + 1, 5]], np.int32)
EIGHT = np.arange(16, dtype=np.float32).reshape(4, 4)
GROUP = np.random.default_rng(5).normal(0, 3, (32, 4)).astype(ml_dtypes.bfloat16)
GROUP[:8, 1] = 7.5  # 480 with the smaller scale: more than float8_e4m3fn holds


def scaled(x, exponent):
    """The bytes of the groups' scales, then those of the elements: the largest lies in the octave of 2 ** exponent."""
    groups = x.astype(np.float32).reshape(4, 32)
    powers = np.floor(np.log2(np.abs(groups).max(1))) - exponent
    elements = np.clip(groups / 2.0 ** powers[:, None], -448, 448).astype(ml_dtypes.float8_e4m3fn)
    return np.concatenate([powers[:, None] + 127, elements.view(np.uint8)], axis=1).tolist()


SQUARE = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
BITS = np.random.default_rng(3).integers(0, 99, (4, 4, 64)).astype(ml_dtypes.bfloat16)

# What changed -> (probe, what it gives before, what it gives since). A text is the beginning of a refusal.
PROBES = {
    "NKI_PRECISE_FP": (
        runs(thirds, THIRD),
        ((THIRD.astype(np.float32) + 1) * 3 - 1).astype(ml_dtypes.bfloat16).astype(float).tolist(),
        ((((THIRD.astype(np.float32) + 1) * 3).astype(ml_dtypes.bfloat16).astype(np.float32) - 1)
         .astype(ml_dtypes.bfloat16).astype(float).tolist())),
    "nisa.activate2, nl.abs_max, nl.abs_min, nl.bypass, nl.prelu": (
        names(("isa", "activate2"), ("language", "abs_max"), ("language", "prelu")), [False] * 3, [True] * 3),
    "nl.square and nl.relu as op0": (runs(squares, X), "nl.square as op0 came with NKI 0.4.0", (X**2).tolist()),
    "nisa.dma_copy": (runs(copied, X), FULL, "`priority` of nisa.dma_copy is a"),
    "nisa.dma_transpose": (
        runs(transposed_by_position, X), X.T.tolist(), "`priority` of nisa.dma_transpose is a"),
    "nisa.dma_compute(oob_mode=)": (
        runs(computed, X), "`oob_mode` of nisa.dma_compute came with NKI 0.4.0", (2 * X).tolist()),
    "nisa.tensor_scalar_reduce(reduce_cmd=, reduce_init=)": (
        runs(lambda x: reduced(x, reduce_cmd=nisa.reduce_cmd.reset_reduce), X),
        "`reduce_cmd` of nisa.tensor_scalar_reduce came with NKI 0.4.0", SUMS),
    "float8_e4m3fn in nisa.nc_matmul": (
        runs(product, EIGHT.astype(ml_dtypes.float8_e4m3fn)),
        "`stationary` of float8_e4m3fn in nisa.nc_matmul came with NKI 0.4.0",
        (EIGHT.T @ EIGHT).tolist()),
    "rank of dst in nisa.dma_transpose": (
        runs(transposed_into_three, X), X.T[:, None].tolist(), "`dst` is float32 [8, 1, 4]"),
    "nisa.nc_transpose(engine=)": (
        runs(transposed_on_vector, SQUARE), SQUARE.T.tolist(), "`data` is float32 [64, 64]"),
    "partitions of nisa.sendrecv": (
        runs(exchanged[2], X), "nisa.sendrecv of 4 partitions", [FULL, FULL]),
    "variable of nl.dynamic_range": (
        runs(rows_by_variable, X), "the variable of a device loop in an address came with NKI 0.4.0", FULL),
    "nl.tile_size." + ", ".join(_changes._BYTES): (
        size_names, "nl.tile_size.psum_bank_fmax_bytes came with NKI 0.4.0", [True] * 3),
    "nl.float8_e8m0fnu, nl.average, nisa.get_nc_sub_version": (
        names(("language", "float8_e8m0fnu"), ("language", "average"), ("isa", "get_nc_sub_version")),
        [False] * 3, [True] * 3),
    "views of tensors: " + ", ".join(_changes._VIEWS): (
        runs(permuted, X), "`permute` of tensors came with NKI 0.5.0", X.T.tolist()),
    "reshape of a tensor in HBM": (
        runs(reshaped_to_less, X), X.reshape(-1)[:6].reshape(2, 3).tolist(), "shape (4, 8) as (2, 3)"),
    "nl.matmul(transpose_x=False)": (
        runs(multiplied, X), "nl.matmul with transpose_x=False came with NKI 0.5.0", (X[:, 0:4] @ X).tolist()),
    "bfloat16 dst of nisa.nc_matmul": (
        runs(wide_product, X), "a bfloat16 dst of 8192 elements", [[0.0, 0.0]] * 2),
    "scales of nisa.quantize_mx": (runs(quantised, GROUP), scaled(GROUP, 8), scaled(GROUP, 7)),
    "nl.rsqrt": (runs(root_of_psum, np.ones((2, 2), np.float32)), [[0.5, 0.5]] * 2, "`data` is in PSUM"),
    "nl.copy": (runs(copied_tile, BIG), [[2**24, 5]], BIG.tolist()),
    "nl.fori_loop, nl.while_loop, nisa.topk, nki.collectives.all_gather_v": (
        names(("language", "fori_loop"), ("language", "while_loop"), ("isa", "topk"), ("collectives", "all_gather_v")),
        [False] * 4, [True] * 4),
    "what a call of nki.isa returns": (runs(result_of_a_call, X), [[0.0]], [[1.0]]),
    "nisa.tensor_scalar_reduce(reduce_res_negate=)": (
        runs(reduced_into_nothing, X), "nisa.tensor_scalar_reduce without reduce_res came with NKI 0.6.0",
        (X + 1).tolist()),
    "nisa.dma_transpose by hardware DGE": (
        runs(transposed_by_hardware, BITS), "nisa.dma_transpose of (4, 4, 64) by hardware DGE came with NKI 0.6.0",
        BITS.astype(float).transpose(2, 1, 0).tolist()),
    "nl.dynamic_range, while register:": (deprecations, [], ["nl.dynamic_range"]),
}  # fmt: skip


def test_every_change_has_a_probe():
    assert list(PROBES) == [change.what for change in _changes.CHANGES]


@pytest.mark.parametrize("change", _changes.CHANGES, ids=lambda change: change.what[:40])
def test_a_change_is_there_since_its_version_and_not_before(change, version, monkeypatch):
    probe, before, after = PROBES[change.what]
    for chosen in [*KNOWN, *reversed(KNOWN)]:
        version(chosen)
        expected, got = (before if chosen < change.since else after), probe(monkeypatch)
        if isinstance(expected, str):
            assert isinstance(got, str) and got.startswith(expected), (chosen, got)
        else:
            assert got == expected, chosen


@pytest.mark.parametrize("change", [c for c in _changes.CHANGES if c.names], ids=lambda change: change.since)
def test_names_come_with_their_version(change, version):
    for chosen in KNOWN:
        version(chosen)
        for module, name in change.names:
            assert hasattr(getattr(nki, module), name) == (change.since <= chosen), (chosen, name)
    version("0.3.0")
    module, name = change.names[0]
    with pytest.raises(ImportError, match=f"'{name}' from 'nki.{module}': it came with NKI {change.since}"):
        exec(f"from kiln.nki.{module} import {name}", {})


def test_the_lint_knows_the_same_new_names():
    ours = {f"nki.{module}.{name}": change.since for change in _changes.CHANGES for module, name in change.names}
    assert {name: since for name, since in NEW_NAMES.items() if since > KNOWN[0]} == ours


def test_the_package_names_the_version_in_use(version):
    for known in KNOWN:
        version(known)
        assert nki.__version__ == known


def test_a_star_import_takes_the_names_that_the_version_has(version):
    for chosen in KNOWN:
        version(chosen)
        names = {}
        exec("from kiln.nki.language import *", names)
        assert "add" in names and ("fori_loop" in names) == ("fori_loop" in dir(nl)) == (chosen == KNOWN[-1])


def test_functions_that_were_imported_before_do_as_the_version_in_use(version):
    dma_compute, shape = nisa.dma_compute, nki.NkiTensor.shape
    for chosen in KNOWN:
        version(chosen)
        assert nisa.dma_compute is dma_compute and nki.NkiTensor.shape is shape

    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        assert dma_compute(out, [x, x], nl.add) is None
        dma_compute(out, [x, x], nl.add, oob_mode=nisa.oob_mode.error)

    version("0.3.0")
    with pytest.raises(kiln.NkiValidationError, match="`oob_mode` of nisa.dma_compute came with NKI 0.4.0"):
        nki.simulate(kernel)(X)


def test_our_own_code_has_the_newest_attributes_of_tensors_in_every_version(version):
    version("0.3.0")
    summed = nki.simulate(lambda x: stored(nl.sum(nl.broadcast_to(nl.load(x), (4, 8)), axis=1, keepdims=True)))(X)
    np.testing.assert_array_equal(summed, X.sum(axis=1, keepdims=True))
    with pytest.raises(kiln.NkiValidationError, match="`size` of tensors came with NKI 0.5.0"):
        nki.simulate(lambda x: x.size)(X)


def test_the_newest_version_is_as_if_no_other_had_been_chosen(version):
    before = {name: vars(nisa)[name] for name in kiln._kiln.isa_functions if name in vars(nisa)}
    for chosen in KNOWN:
        version(chosen)
    assert all(vars(nisa)[name] is function for name, function in before.items())
    assert "__getattribute__" not in vars(nki.NkiTensor)


def copied_psum(x):
    p = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.psum)
    nisa.tensor_copy(p, nl.full(x.shape, 4.0, nl.float32))
    return stored(nl.copy(p))


def test_nl_copy_takes_psum_since_0_6_0(version):
    x = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(nki.simulate(copied_psum)(x), 4 * x)
    version("0.5.0")
    with pytest.raises(kiln.NkiValidationError, match="nisa.tensor_copy takes it") as caught:
        nki.simulate(copied_psum)(x)
    assert caught.value.code == "nki.R49"
