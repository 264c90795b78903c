"""What is refused says where, what, and what to write instead."""

import inspect

import numpy as np
import pytest

import kiln
import kiln.numpy as kn

X = np.ones((4, 6), np.float32)
TABLE = np.ones((9, 3), np.float32)


def error_of(function, *arguments, kind=AssertionError):
    with pytest.raises(kind) as caught:
        kiln.jit(function)(*arguments)
    return str(caught.value)


def branch(x):
    if x.sum() > 0:
        return x
    return -x


def loop(x):
    while x[0, 0] < 3:
        x = x * 2
    return x


@pytest.mark.parametrize("function, words", [
    (branch, ["numpy.R2", "np.where", "kiln.cond"]), (loop, ["numpy.R2"]),
    (lambda x: float(x[0, 0]), ["numpy.R3", "float()"]),
    (lambda x: range(x.sum().astype(int)), ["numpy.R3", "kiln.fori_loop(0, n"]),
    (lambda x: TABLE[x.argmax()], ["numpy.R3", "np.asarray(table)"]),
    (lambda x: x[x > 0], ["numpy.R6", "np.where"]),
    (lambda x: np.nonzero(x), ["numpy.R6"]),
    (lambda x: np.unique(x), ["numpy.R6"]),
    (lambda x: np.linalg.eigvals(x), ["numpy.R4", "eigvals", "complex"]),
    (lambda x: np.fft.fft(x), ["numpy.R4", "np.fft.fft", "kiln.fft"]),
    (lambda x: x + np.random.normal(size=6), ["numpy.R5", "np.random.normal", "kiln.numpy.random"]),
    (lambda x: [v * 2 for v in np.nditer(x)], ["numpy.R5", "np.nditer", "x.flat"]),
    (lambda x: np.frompyfunc(lambda a: a + 1, 1, 1)(x), ["numpy.R4", "np.vectorize"]),
    (lambda x: x if max(x[0]) else x, ["numpy.R2", "np.max"]),
    (lambda x: x + np.random.default_rng().random(6), ["numpy.R5", "default_rng", "pass the array"]),
    (lambda x: np.zeros(x.sum().astype(int)), ["numpy.R6", "np.zeros", "x.shape"]),
    (lambda x: setattr(x, "shape", (24,)), ["numpy.R8", "x.reshape(shape)"]),
    (lambda x: x + 1j, ["numpy.R1", "complex", "kiln.fft"]),
    (lambda x: np.histogram(x, "auto"), ["numpy.R6", "how many bins"]),
    (lambda x: np.add(x, 1, where=x > 0), ["numpy.R14", "out"]),
    (lambda x: np.add(x, 1, out=np.random.default_rng(0).normal(size=(4, 6))), ["numpy.R5", "np.zeros"]),
    (lambda x: np.pad(x, 1, mode=lambda *_: 0), ["numpy.R5", "np.pad", "linear_ramp"]),
    (lambda x: np.astype(x, complex), ["numpy.R1", "complex"]),
    (lambda x: x.astype(np.uint32) + x.astype(np.int32), ["numpy.R10", "int64"]),
    (lambda x: x["a"], ["numpy.R7"]),
    (lambda x: object(), ["numpy.R8"]),
    (lambda x: kn.fori_loop(0, 3, lambda i, c: c[:2], x), ["numpy.R5", "after a pass"]),
    (lambda x: kn.fori_loop(0, 3, lambda i, c: (c, c), x), ["numpy.R5", "structure"]),
    (lambda x: kn.all_reduce(x), ["numpy.R20", "ranks=n"]),
])
def test_refused(function, words):
    text = error_of(function, X)
    for word in [*words, "test_errors.py:", "rule:", "help:"]:
        assert word in text


def test_the_line_is_the_users():
    text = error_of(branch, X)
    line = inspect.getsourcelines(branch)[1] + 1
    assert f"test_errors.py:{line}" in text and "if x.sum() > 0:" in text


def test_errors_of_what_is_compiled_later_have_the_users_line():
    low = kiln.jit(lambda x: x + 1, lnc=2).lower(X, target="trn1")
    with pytest.raises(AssertionError) as caught:
        low.program  # noqa: B018
    assert "program.R24" in str(caught.value) and "functools" not in str(caught.value)
    assert "low.program  # noqa" in str(caught.value)


@pytest.mark.parametrize("x, words", [
    (np.ones(3, ">f4"), "x.astype(np.float32)"), (np.ones(3, np.complex64), "real and imaginary"),
    (np.array([(1, 2.0)], [("a", "i4"), ("b", "f4")]), "x['a'], x['b']"), (np.array(["a"]), "strings stay on the host"),
    (np.array([1, None]), "make it of numbers"), (np.array(["2020-01-01"], "M8[D]"), "pass them as integers")])
def test_arguments_of_other_dtypes(x, words):
    text = error_of(lambda x: x == x, x, kind=TypeError)
    assert "numpy.R1" in text and words in text


def test_results_are_refused_in_the_function():
    def positive(x):
        return x[x > 0]

    assert f"test_errors.py:{inspect.getsourcelines(positive)[1]}" in error_of(positive, X)


def test_errors_of_the_compiler_have_the_line_too():
    def product(x):
        y = x + 1
        return y @ x

    line = inspect.getsourcelines(product)[1] + 2
    assert f"test_errors.py:{line}" in error_of(product, X)


@pytest.mark.parametrize("function, kind", [
    (lambda x: x.reshape(5, 5), ValueError), (lambda x: x[9], IndexError), (lambda x: x[0, 0, 0], IndexError),
    (lambda x: np.sum(x, axis=5), np.exceptions.AxisError), (lambda x: np.concatenate([x, x[:, :2]]), ValueError),
    (lambda x: x.astype(np.int8) + 300, OverflowError), (lambda x: np.max(x[:0]), ValueError),
    (lambda x: np.squeeze(x, 0), ValueError), (lambda x: np.split(x, 4, axis=1), ValueError),
    (lambda x: -(x > 0), TypeError), (lambda x: np.linalg.inv(x), np.linalg.LinAlgError),
    (lambda x: np.sum(x, axis=(0, 0)), ValueError), (lambda x: x.transpose(0, 0), ValueError),
    (lambda x: x.__setitem__(slice(0, 2), np.ones(5)), ValueError), (lambda x: np.take(x, 99), IndexError),
    (lambda x: len(x[0, 0]), TypeError), (lambda x: np.sum(x, axs=1), TypeError)])
def test_errors_of_numpy_stay(function, kind):
    with pytest.raises(kind):
        function(X.copy())
    with pytest.raises(kind):
        kiln.jit(function)(X.copy())


def test_indices_of_the_run_that_are_outside():
    for backend in ("simulator", "native"):
        with pytest.raises(AssertionError):
            kiln.jit(lambda x, i: x[i], backend=backend)(X, np.array([1, 9], np.int32))


def test_options():
    for options in ({"backend": "gpu"}, {"target": "trn9"}, {"opt": 7}, {"opt": True}):
        with pytest.raises(kiln.NkiConfigError):
            kiln.jit(lambda x: x, **options)
    with pytest.raises(kiln.NkiConfigError):
        kiln.jit(lambda x: x).lower(X, target="tpu")
    with pytest.raises(TypeError):
        kiln.jit(3)
    with pytest.raises(kiln.NkiConfigError, match="neuron"):
        kiln.jit(lambda x: x + 1, backend="neuron")(X) if not _has_nki() else pytest.skip("a package nki is there")


def _has_nki():
    from kiln.blas import _neuron

    return not _neuron.why_not()


def test_jit_of_kernels_is_another():
    assert kiln.jit is not kiln.nki.jit


def test_random_numbers_with_a_seed_are_constants():
    def noisy(x):
        return x + np.random.default_rng(7).integers(0, 9, 6).astype(np.float32)

    np.testing.assert_array_equal(kiln.jit(noisy)(X), noisy(X))
    assert np.random.rand(3).shape == (3,)  # outside everything is as ever
