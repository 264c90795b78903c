"""How programs, diagnostics, reports, timings and tensors show themselves in terminals and notebooks."""

import html

import numpy as np
import pytest

import kiln
from kiln import nki
from kiln._trace import inside
from kiln.nki import isa as nisa
from kiln.nki import language as nl

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


@nki.jit
def scale(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, name="a<b>&c")
    nisa.dma_copy(tile, x)
    nisa.tensor_scalar(tile, tile, nl.multiply, 2.0)
    nisa.dma_copy(out, tile)
    return out


def refused(x):
    tile = nl.ndarray((4, 4), dtype=nl.float32, name="a<b>&c")
    nisa.tensor_copy(tile, tile[:, 0:2])


def is_escaped(page):
    """No markup of the kernel's in it."""
    return "<b>&c" not in page and "a&lt;b&gt;&amp;c" in page


def test_programs():
    program = kiln.program(scale, X)
    assert repr(program) == "<Program scale for trn3: 3 instructions, 3 tensors>"
    page = program._repr_html_()
    assert is_escaped(page) and html.escape(str(program).splitlines()[-1]) in page
    pair = kiln.program(scale[2], X)
    assert repr(pair).count("<Program scale for trn3") == 2 and pair._repr_html_().count("<pre") == 2


def test_long_programs_do_not_fill_a_notebook():
    def kernel(x):
        tile = nl.load(x)
        for _ in range(1000):
            nisa.tensor_scalar(tile, tile, nl.multiply, 2.0)
        nl.store(x, tile)

    program = kiln.program(kernel, X)
    page = program._repr_html_()
    assert page.count("\n") < 500 and "more lines: print(program) shows them" in page


def test_diagnostics_and_reports():
    report = kiln.check(refused, "float32[4,4]")
    diagnostic = report.diagnostics[0]
    assert repr(diagnostic).startswith(f"<Diagnostic error[{diagnostic.code}] at ")
    assert diagnostic.found in repr(diagnostic) and "\n" not in repr(diagnostic)
    for page in (diagnostic._repr_html_(), report._repr_html_()):
        assert is_escaped(page) and html.escape(diagnostic.found) in page and page.count("<pre") == 1
    assert repr(diagnostic.loc).startswith("<SourceLoc ")
    departure = kiln.compare(scale, {"a<b>&c": X}, [X])
    assert is_escaped(departure._repr_html_()) and "reference" in repr(departure)


def test_timings():
    timing = kiln.time(scale)(X)
    assert repr(timing).startswith("<Timing ") and "\n" not in repr(timing) and "us" in repr(timing)
    assert str(timing) == timing.report() and timing._repr_html_().startswith("<iframe srcdoc=")
    assert "<Latency" in repr(kiln.benchmark(scale)(X))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "float16", "bool"])
def test_tensors_print_like_numpy(dtype):
    shown = []

    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        shown.extend([str(tile), f"{x}", repr(tile)])
        nl.store(out, tile)
        return out

    for shape in ((3, 5), (4, 400), (2, 3, 4)):
        x = np.random.default_rng(1).integers(0, 200, shape).astype(dtype)
        shown.clear()
        nki.simulate(kernel)(x)
        assert shown[:2] == [str(x), str(x)]
        assert shown[2].startswith("<NkiTensor tile: ") and shown[2].endswith(f"\n{x}")


def test_what_nobody_has_written_keeps_its_place():
    data, mask = np.array([[1.5, -2, 3], [4, 50, 6]], np.float32), np.array([[0, 1, 0], [0, 0, 1]], bool)
    assert inside.text_of(np.ma.masked_array(data, mask)) == "[[ 1.5   --  3. ]\n [ 4.  50.    --]]"
    assert inside.text_of(np.ma.masked_array(data, True)) == "[[-- -- --]\n [-- -- --]]"


def test_the_reference_of_another_shape_is_named():
    for reference in ({"out": np.zeros((3, 2))}, lambda x: np.zeros((3, 2))):
        with pytest.raises(kiln.NkiConfigError) as raised:
            kiln.compare(scale, reference, [X])
        assert raised.value.code == "nki.R81"
        assert raised.value.diagnostics[0].found == "`out` has the shape (2, 3), its reference (3, 2)"
    with pytest.raises(kiln.NkiConfigError, match=r"`out` has the shape \(2, 3\), its reference \(1, 2, 3\)"):
        kiln.compare(scale, {"out": 2 * X[None]}, [X])
    assert kiln.compare(scale, {"out": 2 * X}, [X]) is None
    assert kiln.compare(scale, {"out": np.float32(7)}, [X]).want == 7  # a number is the reference of every element


def test_a_kernel_as_reference_with_another_shape():
    @nki.jit
    def flat(x):
        out = nl.ndarray((x.shape[0] * x.shape[1],), dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, x)
        return out

    with pytest.raises(kiln.NkiConfigError, match=r"`out` has the shape \(2, 3\), its reference \(6,\)"):
        kiln.compare(scale, flat, [X])


@pytest.mark.parametrize("reference, inputs, options, text", [
    (None, [X], {}, "`reference` of kiln.compare is a NoneType"),
    ({"out": "text"}, [X], {}, "the reference of `out` is an array of str"),
    ({"out": X}, 3, {}, "`inputs` of kiln.compare is a int"),
    ({"out": X}, [X], {"rtol": "a"}, "`rtol` of kiln.compare is a str"),
])
def test_what_compare_cannot_use(reference, inputs, options, text):
    with pytest.raises(kiln.NkiValidationError) as raised:
        kiln.compare(scale, reference, inputs, **options)
    assert text in raised.value.diagnostics[0].found
