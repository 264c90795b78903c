"""Every function that docs/numpy.md says is there, against NumPy."""

import pathlib

import numpy as np
import pytest

from against_numpy import DTYPES, SEED, check, sample
from function_cases import CASES
from kiln.numpy import _support

UFUNCS = sorted({f for _, module in _support.namespaces() for f in _support.functions(module).values()
                 if isinstance(f, np.ufunc) and _support.state(f.__name__, f)[0] == "yes"}, key=lambda f: f.__name__)
WHOLE = pathlib.Path(__file__).parents[2]


def test_every_function_of_the_table_has_a_case():
    lacking = [name for name in _support.supported() if name not in CASES and
               not isinstance(getattr(np, name.rpartition(".")[2], None), np.ufunc)]
    assert lacking == []
    assert len(_support.supported()) >= 220


def test_the_page_has_the_table_of_now():
    page = (WHOLE / "docs" / "numpy.md").read_text()
    assert _support.rewritten(page) == page, "run python -m kiln.numpy._support docs/numpy.md"


@pytest.mark.parametrize("name", sorted(CASES))
def test_function(name):
    print(f"KILN_SEED={SEED}")
    for function, arguments in CASES[name]:
        check(function, *arguments, loose=10 if "linalg" in name else 2)


def _operands(ufunc, dtype, shape):
    x, y = sample(dtype, shape, 1), sample(dtype, shape, 2)
    y = y.reshape(-1)[::-1].reshape(shape).copy()
    if ufunc in (np.left_shift, np.right_shift) and np.dtype(dtype).kind in "iu":
        y = (np.abs(y.astype(np.int32)) % 40).astype(dtype)
    if ufunc is np.ldexp:
        y = sample(np.int32, shape, 3)
    if ufunc is np.power and np.dtype(dtype).kind in "iu":
        y = (np.abs(y.astype(np.int32)) % 8).astype(dtype)
    return (x,) if ufunc.nin == 1 else (x, y)


@pytest.mark.parametrize("ufunc", [u for u in UFUNCS if u.signature is None], ids=lambda u: u.__name__)
def test_ufunc(ufunc):
    print(f"KILN_SEED={SEED}")
    for dtype in DTYPES:
        if ufunc is np.spacing and np.dtype(dtype).kind in "iub":
            continue  # NumPy's answer is about float64
        for shape in ((4, 9), (0, 3)):
            check(lambda *a: ufunc(*a), *_operands(ufunc, dtype, shape))


@pytest.mark.parametrize("ufunc", [u for u in UFUNCS if u.nin == 2 and u.signature is None and u is not np.ldexp],
                         ids=lambda u: u.__name__)
def test_ufunc_broadcasts_and_takes_numbers(ufunc):
    x, y = sample(np.float32, (3, 1, 4), 1, False), np.abs(sample(np.float32, (5, 1), 2, False)) + np.float32(0.5)
    if ufunc.types[0][0] in "bB?" and not any("f" in t for t in ufunc.types):
        x, y = sample(np.int16, (3, 1, 4), 1), np.abs(sample(np.int16, (5, 1), 2)) % 8
        check(lambda a, b: (ufunc(a, b), ufunc(a, 3), ufunc(5, b)), x, y)
        return
    check(lambda a, b: (ufunc(a, b), ufunc(b, 2.5), ufunc(2, b)), x, y)


@pytest.mark.parametrize("ufunc", [np.matmul, np.vecdot, np.matvec, np.vecmat], ids=lambda u: u.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int8, np.bool_])
def test_product(ufunc, dtype):
    shapes = {np.matmul: (((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)),
                          ((3, 0), (0, 2)), ((2, 1, 3, 4), (5, 4, 2))),
              np.vecdot: (((3, 4), (3, 4)), ((2, 3, 4), (4,))), np.matvec: (((3, 4), (4,)), ((2, 3, 4), (2, 4))),
              np.vecmat: (((3,), (3, 4)), ((2, 3), (2, 3, 4)))}
    for one, two in shapes[ufunc]:
        check(lambda a, b: ufunc(a, b), sample(dtype, one, 1, False), sample(dtype, two, 2, False))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_product_with_equal_elements(dtype):
    x = sample(dtype, (4, 5, 6), 1, False)
    check(lambda a: (a @ np.ones(6, dtype), a @ np.full((6, 3), 2, dtype), np.ones((3, 5), dtype) @ a), x)
    check(lambda a: (np.ones(5, dtype) @ a, a @ np.zeros((2, 1, 6, 2), dtype), np.inner(a, np.ones((3, 6), dtype))), x)


@pytest.mark.parametrize("method", ["reduce", "accumulate", "outer"])
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.logaddexp, np.subtract,
                                   np.bitwise_and, np.logical_or], ids=lambda u: u.__name__)
def test_methods_of_ufuncs(ufunc, method):
    x = sample(np.int32, (4, 5), 1) % 5 if ufunc in (np.bitwise_and, np.logical_or) else sample(
        np.float32, (4, 5), 1, False)
    if ufunc is np.logical_or and method == "accumulate":
        x = x.astype(bool)  # which is all that NumPy accumulates with it
    if method == "outer":
        check(lambda a: ufunc.outer(a[0], a[1]), x)
    else:
        check(lambda a: (getattr(ufunc, method)(a), getattr(ufunc, method)(a, axis=1)), x)


def test_repeated_indices_count():
    j = np.array([1, 1, 3, -1], np.int32)
    for ufunc in (np.add, np.subtract, np.multiply, np.maximum, np.minimum):
        check(lambda x, i, y: (ufunc.at(x, i, y), x)[1], sample(np.float32, (6,), 1, False), j,
              sample(np.float32, (4,), 2, False))
    check(lambda x, i: (np.add.at(x, (i, 1), 2), x)[1], sample(np.int32, (6, 3), 1), j)
