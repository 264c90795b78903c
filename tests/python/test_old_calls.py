"""Forms of older NKI raise with what to write today: calls, keywords, names and imports."""

import subprocess
import sys

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln.nki import _old_calls
from kiln.nki import isa as nisa
from kiln.nki import language as nl

# (what the kernel does, words of the rewrite)
CALLS = (
    ("nisa.tensor_copy(t)", "allocate it with nl.ndarray"),
    ("nisa.activation(op=nl.exp, data=t)", "pass dst=; since NKI 0.2.0 every instruction writes into `dst`"),
    ("nisa.tensor_scalar(t, nl.add, s)", "`data` of nisa.tensor_scalar is the operator nl.add"),
    ("nisa.tensor_scalar(t, nl.add, s)",
     "allocate it with nl.ndarray(shape, dtype=…, buffer=nl.sbuf) and pass it first"),
    ("nisa.activation(nl.exp, t)", "and pass it first"),
    ("nisa.activation(np.exp, t, s)", "and pass it first"),
    ("nisa.memset((128, 4), 0.0)", "and pass it first"),
    ("nisa.nc_transpose(a)", "buffer=nl.psum) and pass it first"),
    ("nisa.nc_matmul(a, b)", "buffer=nl.psum) and pass it first"),
    ("nisa.tensor_copy(t, s, mask=1)", "t[0:min(n, end - start)]"),
    ("nisa.tensor_copy(t, s, dtype=nl.float32)", "the dtype of `dst` decides"),
    ("nisa.tensor_tensor(t, s, s, op=np.add)", "write nl.add:"),
    ("nisa.activation(t, np.exp, s)", "write nl.exp:"),
    ("nisa.memset(shape=(128, 4), value=0)", "nisa.memset(dst, value)"),
    ("nisa.iota(expr=1)", "nisa.iota(dst, pattern=[[step, num], …]"),
    ("nisa.affine_select(pred=1)", "give pattern, channel_multiplier and cmp_op"),
    ("nisa.affine_select(t, [[1, 4]], 0, 1, s, 0.0)", "on_false_value, offset=…)"),
    ("nisa.nc_stream_shuffle(t, list(range(32)), s)", "nc_stream_shuffle(dst, src, shuffle_mask)"),
    ("nisa.nc_matmul(p, a, b, psumAccumulateFlag=3)", "write `accumulate=`"),
    ("nisa.nc_matmul(p, a, b, psum_accumulate_flag=3)", "write `accumulate=`"),
    ("nisa.affine_select(t, [[1, 4]], 3, 1, t, 0.0, cmp_op=nl.greater)", "`offset` is a keyword since NKI 0.3.0"),
    ("nisa.tensor_copy(t, nisa.tensor_copy(s, t))", "returns no tile since NKI 0.2.0"),
    ("nisa.nc_stream_shuffle(t, t, mask=[0] * 32)", "write `shuffle_mask=`"),
    ("nisa.nc_matmul(p, a, b, is_moving_zero=True)", "write `is_moving_onezero=`"),
    ("nisa.nc_matmul(p, a, b, perf_mode='double_row_gen3')", "nisa.matmul_perf_mode.double_row"),
    ("p + nisa.nc_matmul(p, a, b)", "nisa.nc_matmul(dst=psum, ..., accumulate=i > 0)"),
    ("nisa.dma_copy(x, p)", "tensor_copy between SBUF and PSUM"),
    ("nisa.dma_copy(x, t, dst_rmw_op=nl.add)", "nisa.dma_compute(dst, srcs, reduce_op=…, unique_indices=True)"),
    ("nisa.dma_copy(x, t, unique_indices=True)", "nisa.dma_compute(dst, srcs, reduce_op=…, unique_indices=True)"),
    ("nisa.dma_copy(x, t, nisa.oob_mode.skip)", "write oob_mode=…"),
    ("nisa.dma_transpose(t, s, (1, 0), nisa.dge_mode.none)", "write dge_mode=…"),
    ("nisa.dma_copy(x, h, dge_mode=nisa.dge_mode.hwdge)", "match the dtypes with .view(), or use swdge or none"),
    ("nisa.dma_compute(x, [x, x], [1.0, 1.0], nl.add)", "nisa.dma_compute(dst, srcs, nl.add, scales=[…])"),
    ("nisa.sendrecv(s, t, 1, 1, 0, use_gpsimd_dma=True)", "dma_engine=nisa.dma_engine.gpsimd_dma"),
    ("nisa.register_move(nisa.register_alloc(0), imm=3)", "write `src=`"),
    ("nisa.dma_copy(x, t, oob_mode='skip')", "pass a member of nisa.oob_mode"),
    ("nisa.memset(i, 2.0)", "write 2 instead of 2.0"),
    ("nisa.tensor_reduce(t[:, 0:1], nl.add, t3, axis=1)", "axis names the last free dimensions"),
    ("nisa.dma_transpose(t3, s)", "reshape the views to one rank"),
    ("nisa.tensor_scalar_reduce(t, s, nl.add, 1.0, nl.subtract, r)", "reduce_op"),
    ("nisa.range_select(t, s, nl.less, nl.greater, r, r2, on_false_value=0.0)", "-3.40282"),
    *((f"nisa.tensor_scalar(t, s, nl.{name}, 2.0)", help) for name, help in _old_calls.OPERATORS.items()),
    *((f"nisa.tensor_tensor(t, s, s, nl.{name})", help) for name, help in _old_calls.OPERATORS.items()),
    ("nisa.activation(t, nl.divide, s)", "nisa.reciprocal(r, y)"),
    ("nisa.activation(t, nl.exp, s, engine=nisa.vector_engine)",
     "drop it: nisa.activation has one engine and no choice"),
    ("nisa.tensor_copy(t, data=s)", "write src="),
    ("nisa.activation(t, nl.exp, src=s)", "write data="),
    ("nisa.tensor_tensor(t, s, s, operator=nl.add)", "see the signature"),
    ("nisa.tensor_scalar(t, s, nl.add, operand_0=1.0)", "write operand0="),
    ("nisa.nc_matmul(p[0:4], a, b)", "dst is [4, 4], the product is [128, 4]\n"),
    ("nisa.nc_matmul(p, b, a)", "the product is [4, 128]; stationary and moving look exchanged"),
    ("nl.load(x, mask=1)", "nl.load() got an unexpected keyword argument 'mask': it was removed in NKI 0.2.0: bound"),
    ("nl.store(x, t, mask=1)", "bound the slices instead"),
    ("nl.affine_range(3, precise_schedule=True)", "it was removed in NKI 0.2.0: drop it"),
    ("nl.sequential_range(3, directives=True)", "it was removed in NKI 0.2.0: drop it"),
    ("nki.collectives.collective_permute_implicit([[x]], [[x]], [[0]], num_channels=1)", "write `channel_ids=`"),
    ("nl.ndarray((2, 2), nl.float32, buffer='sbuf')", "write buffer=nl.sbuf"),
    ("nki.jit(platform_target='trn2')", "NEURON_PLATFORM_TARGET_OVERRIDE"),
)  # fmt: skip

# (module, name, words of the rewrite)
NAMES = (
    ("nki.language", "par_dim", "the size alone, (128, 512)"),
    ("nki.language", "arange", "slices, t[0:128, 4:8]"),
    ("nki.language", "static_cast", "nl.copy(x, dtype=nl.float32)"),
    ("nki.language", "nc", "kernel[2](...)"),
    ("nki.isa", "tensor_copy_dynamic_src", "src=view.ap(..., scalar_offset=…)"),
    ("nki.isa", "tensor_copy_dynamic_dst", "dst=view.ap(..., scalar_offset=…)"),
    ("nki.isa", "fp32", "-3.4028235e38"),
    ("nki.isa", "builtin_custom_op", "write it with instructions"),
    ("nki", "baremetal", "call the kernel with NumPy arrays"),
    ("nki", "simulate_kernel", "nki.simulate("),
    ("nki.compiler", "sbuf", "address=(partition, offset)"),
)


@pytest.mark.parametrize("call, help", CALLS, ids=[call for call, _ in CALLS])
def test_old_calls_tell_the_rewrite(call, help):
    def kernel(x, h):
        tile = {n: nl.zeros((128, 4), nl.float32) for n in ("t", "s")}
        tile |= {n: nl.zeros((128, 1), nl.float32) for n in ("r", "r2")}
        tile |= {"t3": nl.zeros((128, 2, 2), nl.float32), "i": nl.zeros((128, 4), nl.int32),
                 "a": nl.zeros((128, 128), nl.bfloat16), "b": nl.zeros((128, 4), nl.bfloat16),
                 "p": nl.zeros((128, 4), nl.float32, nl.psum)}
        eval(call, {**globals(), **tile, "x": x, "h": h})
        nisa.dma_copy(x, tile["t"])

    x = np.zeros((128, 4), np.float32)
    with pytest.raises((kiln.NkiValidationError, TypeError)) as error:
        nki.simulate(kernel)(x, x.astype(np.float16))
    assert help in str(error.value)


@pytest.mark.parametrize("module, name, help", NAMES)
def test_old_names_tell_the_rewrite_when_they_are_imported_and_when_they_are_read(module, name, help):
    source = f"from kiln.{module} import {name}"
    with pytest.raises(ImportError, match=f"cannot import name '{name}' from '{module}'") as error:
        exec(source, {})
    assert help in str(error.value)
    with pytest.raises(AttributeError) as error:
        exec(f"import kiln.{module}\nkiln.{module}.{name}", {})
    assert help in str(error.value)


@pytest.mark.parametrize("module", sorted({row[0] for row in NAMES}))
def test_names_that_never_were_get_pythons_own_words(module):
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        exec(f"from kiln.{module} import nonsense", {})
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        exec(f"import kiln.{module}\nkiln.{module}.nonsense", {})


def test_an_unknown_keyword_of_the_users_own_function_is_left_alone():
    def load(x):
        return x

    with pytest.raises(TypeError, match="load\\(\\) got an unexpected keyword argument 'other'$"):
        nki.simulate(lambda x: load(x, other=1))(np.zeros((1, 1), np.float32))


@pytest.mark.parametrize("memory, buffer", [("sbuf", "sbuf"), ("psum", "psum"), ("hbm", "shared_hbm")])
def test_memories_as_names_of_the_language_tell_the_rewrite(memory, buffer):
    names = {}
    exec(f"def kernel(x):\n    {memory}.view(dtype=x.dtype, shape=x.shape)", names)
    with pytest.raises(NameError, match=f"name '{memory}' is not defined: .*nl.ndarray\\(.*buffer=nl.{buffer}\\)"):
        nki.simulate(names["kernel"])(np.zeros((1, 1), np.float32))


def test_importing_nki_does_not_import_the_lint():
    code = "import sys, kiln.nki, kiln.nki.isa.constants\nprint([m for m in sys.modules if m.startswith('kiln.lint')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_instructions_that_are_new_have_no_older_form():
    assert _old_calls.hint("missing", "activate2", "imm0", None) is None
    assert "pass data=" in _old_calls.hint("missing", "reciprocal", "data", None)
