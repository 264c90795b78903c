"""The remedies: where a rewrite is code, it is Python, and it breaks no rule itself."""

import ast
import re

import pytest

from kiln import lint
from kiln._old_forms import METHODS, OLD_FORMS
from kiln.lint.signatures import DST_INSTRUCTIONS

HEAD = "import nki, nki.language as nl, nki.isa as nisa, numpy as np\n@nki.jit\ndef kernel(x, y, n):\n" \
       "    a = nl.load(x)\n    b = nl.load(y)\n" \
       "    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)\n"  # fmt: skip

REWRITES = [
    ("c = a + b", "nl.add(a, b)"),
    ("c = a - 2 * b", "nl.subtract(a, nl.multiply(2, b))"),
    ("c = a / b", "nl.multiply(a, nl.reciprocal(b))"),
    ("c = a / n", "nl.multiply(a, 1.0 / n)"),
    ("c = -a", "nl.negative(a)"),
    ("c = a >= b", "nl.greater_equal(a, b)"),
    ("a += b", "nisa.tensor_tensor(dst=a, data1=a, data2=b, op=nl.add)"),
    ("a += nisa.nc_matmul(a, b)", "nisa.nc_matmul(dst=a, stationary=a, moving=b, accumulate=True)"),
    ("out[0:4] = nl.load(x[0:4])", "nisa.dma_copy(dst=out[0:4], src=x[0:4])"),
    ("a[0:4] = 0.0", "nisa.memset(dst=a[0:4], value=0.0)"),
    ("a[...] = nisa.activation(op=nl.exp, data=b, dtype=n)", "nisa.activation(dst=a[...], op=nl.exp, data=b)"),
    ("a[...] = nisa.tensor_copy(b)", "nisa.tensor_copy(a[...], b)"),
    ("c = nisa.activation(op=nl.exp, data=b, mask=n)", "nisa.activation(dst=c, op=nl.exp, data=b)"),
    ("c = nisa.activation(np.exp, b)\n    nl.add(c, b)", "nisa.activation(c, nl.exp, b)"),
    ("c = nisa.nc_transpose(a)\n    nl.add(c, b)", "c = nl.ndarray(shape, dtype=a.dtype, buffer=nl.psum)"),
    ("c = nisa.nc_transpose(a, engine=nisa.vector_engine)\n    nl.add(c, b)",
     "c = nl.ndarray(shape, dtype=a.dtype, buffer=nl.sbuf)"),
    ("c = nisa.memset(shape=(128, n), value=0.0, dtype=np.float16)",
     "c = nl.ndarray((128, n), dtype=nl.float16, buffer=nl.sbuf)"),
    ("c = nisa.memset(shape=(128, n), value=0.0, dtype=np.float16)", "nisa.memset(dst=c, value=0.0)"),
    ("c = nisa.memset((128, n), 1, nl.int32)\n    nl.add(c, b)", "nisa.memset(dst=c, value=1)"),
    ("c = nisa.iota(n)\n    nl.add(c, b)", "nisa.iota(dst=c, pattern=[[step, num]], offset=0, channel_multiplier=0)"),
    ("a += nl.matmul(a, b)", "nisa.nc_matmul(dst=a, stationary=a_T, moving=b, accumulate=True)"),
    ("a += nl.matmul(a, b, transpose_x=True)", "nisa.nc_matmul(dst=a, stationary=a, moving=b, accumulate=True)"),
    ("a += nisa.nc_matmul(moving=b, stationary=a)", "nisa.nc_matmul(dst=a, stationary=a, moving=b, accumulate=True)"),
    ("a[...] = nl.copy(b, dtype=nl.float32)", "nisa.tensor_copy(dst=a[...], src=b)"),
    ("a[...] = nl.exp(b)", "nisa.tensor_copy(dst=a[...], src=nl.exp(b))"),
    ("a[...] = b", "nisa.dma_copy(dst=a[...], src=b)"),
    ("c = np.float32(1.0 / n)", "1.0 / n"),
    ("c = np.sqrt(n)", "math.sqrt(n)"),
    ("c = nl.shared_constant(np.eye(n))", "nl.shared_identity_matrix(n, dtype=nl.float32)"),
    ("c = nl.ndarray((4, nl.par_dim(n), 8), dtype=nl.float32)", "n"),
    ("c = nl.cast(a, nl.float32)", "nl.copy(a, dtype=…)"),
    ("c = a.T", "nl.transpose(a)"),
    ("c = nl.ndarray((128, 4), dtype=np.float16)", "nl.float16"),
    ("c = nl.ndarray((128, 4), dtype=nl.float32, buffer='sbuf')", "buffer=nl.sbuf"),
    ("nisa.affine_select(a, [[1, 4]], 3, 1, b, 0.0)", "nisa.affine_select(a, [[1, 4]], 1, b, 0.0, offset=3)"),
    ("nisa.affine_select(a, [[1, 4]], 3, 1, b, 0.0, cmp_op=nl.greater)",
     "nisa.affine_select(a, [[1, 4]], 1, b, 0.0, cmp_op=nl.greater, offset=3)"),
    ("nisa.nc_matmul(a, b, b, perf_mode='double_row_gen3')", "perf_mode=nisa.matmul_perf_mode.double_row"),
    ("nisa.dma_compute(a, [b], [1.0], nl.add)", "nisa.dma_compute(a, [b], nl.add, scales=[1.0])"),
    ("c = min(n, 3, 4)", "min(n, min(3, 4))"),
    ("c = isinstance(n, (int, float))", "isinstance(n, int) or isinstance(n, float)"),
    ("c = n is True", "n == True"),
    ("c = f'{n:.2f}'", "{n}"),
]


def fenced(text):
    return re.findall(r"`([^`]+)`", text)


@pytest.mark.parametrize("code, rewrite", REWRITES, ids=[code for code, _ in REWRITES])
def test_rewrite(code, rewrite):
    findings = lint.check_source(f"{HEAD}    {code}\n    return out\n")
    assert any(rewrite in fenced(finding.help) for finding in findings), [finding.help for finding in findings]


@pytest.mark.parametrize("rewrite", [rewrite for _, rewrite in REWRITES if "…" not in rewrite and "(" in rewrite])
def test_rewrite_is_clean(rewrite):
    given = "import math\n" + HEAD + "    c, shape, step, num, a_T = 0, (128, 1), 1, 1, b\n"
    findings = lint.check_source(f"{given}    {rewrite}\n    return out\n")
    assert findings == []


@pytest.mark.parametrize("old, told", [
    ("import neuronxcc.nki as nki", "write `import nki`"),
    ("from neuronxcc import nki", "write `import nki`"),
    ("import neuronxcc.nki\nfrom neuronxcc.nki.language import par_dim as nki",
     "drop `par_dim`, which was removed"),
    ("from neuronxcc.nki.language import float32 as nki, par_dim",
     "write `from nki.language import float32 as nki`; drop `par_dim`, which was removed"),
    ("import neuronxcc.nki.nccl as nki", "write `import nki.collectives as ncc`"),
    ("from neuronxcc.nki._private_kernels.attention import attention as nki",
     "drop it: the vendor's kernels are the package nkilib of the repository nki-library"),
])  # fmt: skip
def test_rewrite_of_an_import(old, told):
    text = f"import nki as new\n{old}\n@new.jit\ndef kernel(x):\n    print(nki)\n    return x\n"
    assert [one.help for one in lint.check_source(text) if one.rule == "language.R150"] == [told]


@pytest.mark.parametrize("code, rewrite", [
    ("for i, t in enumerate(items):", "for i in range(len(items)): t = items[i]"),
    ("for s, t in zip(items, others):", "for i in range(len(items)): s = items[i]; t = others[i]"),
    ("for s, t in pairs:", "for item in pairs: (s, t) = item"),
])  # fmt: skip
def test_rewrite_of_a_loop(code, rewrite):
    text = f"import nki\n@nki.jit\ndef kernel(x, items, others, pairs):\n    {code}\n        print(t)\n    return x\n"
    [finding] = [one for one in lint.check_source(text) if one.rule == "language.R30"]
    assert finding.help == rewrite
    ast.parse(rewrite)


@pytest.mark.parametrize("form", OLD_FORMS, ids=lambda form: form.name)
def test_every_old_form_is_found(form):
    """A use of each row of the table gives its rule and its remedy."""
    function, _, keyword = form.name.rstrip("=)").partition("(")
    function = function.replace("nki.isa.*", "nki.isa.tensor_copy").replace("nki.language.*", "nki.language.load")
    function = function.replace("nki.collectives.*", "nki.collectives.all_gather")
    use = f"{function}(x, {keyword}=1)" if keyword else function
    decorator = use if function == "nki.jit" else "nki.jit"
    shown = "0" if function == "nki.jit" else use
    text = f"import nki\n@{decorator}\ndef kernel(x):\n    print({shown})\n    return x\n"
    findings = [one for one in lint.check_source(text) if lint.rules.BY_LABEL[one.rule].name == form.rule]
    start = form.rewrite.split("{")[0]
    assert any(finding.help.startswith(start) for finding in findings), form


@pytest.mark.parametrize("name", METHODS)
def test_every_old_method_is_found(name):
    [finding] = lint.check_source(f"{HEAD}    c = a.{name}\n    return out\n")
    assert finding.rule == "language.R93" and finding.help == METHODS[name].format(tensor="a")


@pytest.mark.parametrize("name", sorted(DST_INSTRUCTIONS))
def test_every_instruction_needs_dst(name):
    findings = lint.check_source(f"{HEAD}    c = nisa.{name}(name='c')\n    return out\n")
    assert [finding.rule for finding in findings] == ["language.R157"]
