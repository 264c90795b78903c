"""Legal and wrong: sums in PSUM, results that nobody reads, cores that do the same. `check` and a run say the same."""

import warnings

import numpy as np
import pytest

import kiln
import kiln.nki as nki
import kiln.nki.isa as nisa
import kiln.nki.language as nl

A = np.ones((512, 128), np.float32)


def matmul(accumulate, inside=True):
    """a.T @ a over four tiles of K, with accumulate(k) for each; the PSUM tile stands inside the outer loop or not."""

    def kernel(a):
        out = nl.ndarray((2, 128, 128), dtype=nl.float32, buffer=nl.shared_hbm)
        tiles = [nl.load(a[k * 128:(k + 1) * 128, :]) for k in range(4)]
        outside = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum)
        for m in range(2):
            psum = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum) if inside else outside
            for k in range(4):
                nisa.nc_matmul(dst=psum, stationary=tiles[k], moving=tiles[k], accumulate=accumulate(k))
            result = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=psum)
            nl.store(out[m], result)
        return out

    return kernel


def codes(kernel, *args):
    """The codes of what a check warns, after a look whether a run warns the same."""
    found = [d.code for d in kiln.check(kernel, *args).diagnostics]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nki.simulate(kernel)(*args)
    ran = [str(w.message) for w in caught if issubclass(w.category, nki.NkiWarning)]
    assert sorted(found) == sorted(text.split("[")[1].split("]")[0] for text in ran), ran
    return found


@pytest.mark.parametrize("accumulate, inside, wanted", [
    (lambda k: False, True, ["flow.R1"]),
    (lambda k: None, False, ["flow.R2"]),
    (lambda k: None, True, []),
    (lambda k: k > 0, True, []),
    (lambda k: k > 0, False, []),
])
def test_sums(accumulate, inside, wanted):
    assert codes(matmul(accumulate, inside), A) == wanted


def test_a_lost_sum_names_its_line():
    [found] = kiln.check(matmul(lambda k: False), A).diagnostics
    assert found.severity == "warning"
    assert "the sum in `psum` is overwritten before anything reads it" in found.found
    with open(__file__) as file:
        assert "nc_matmul" in file.read().splitlines()[found.loc.line - 1]


def test_results_that_nobody_reads():
    def kernel(a):
        out = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(a[0:128, :])
        nl.exp(tile)
        nl.store(out, tile)
        return out

    assert codes(kernel, A) == ["flow.R3"]


def test_a_line_of_which_the_last_pass_alone_is_not_read():
    """What is made one pass ahead."""

    def kernel(a):
        out = nl.ndarray((512, 128), dtype=nl.float32, buffer=nl.shared_hbm)
        following = nl.exp(nl.load(a[0:128, :]))
        for k in range(4):
            current = following
            following = nl.exp(nl.load(a[min(k + 1, 3) * 128:min(k + 2, 4) * 128, :]))
            nl.store(out[k * 128:(k + 1) * 128, :], current)
        return out

    assert codes(kernel, A) == []


def share(rows):
    """A copy of the rows that rows(core) names."""

    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        for start in rows(nl.program_id(0)):
            nl.store(out[start:start + 128, :], nl.load(a[start:start + 128, :]))
        return out

    return nki.jit(kernel)[2]


def test_both_cores_do_all_of_the_work():
    assert codes(share(lambda core: range(0, 512, 128)), A) == ["flow.R4"]
    assert codes(share(lambda core: range(256 * core, 256 * core + 256, 128)), A) == []
