"""The autotuner: deterministic, cached by version, on any executor."""

import concurrent.futures
import json
import multiprocessing

import pytest

import kiln
from kiln import blas, tune
from kiln.blas import tuning

SIZES = (300, 512, 700)


def test_the_fastest_candidate_wins(tmp_path):
    cache = tmp_path / "deep" / "tune.json"
    tuned = tuning.tune_gemm(*SIZES, cache=cache, progress=False)
    assert tuned.best in tuning.GEMM_CANDIDATES and not tuned.from_cache
    assert len(tuned.times_ns) == len(tuning.GEMM_CANDIDATES)
    best = tuning.GEMM_CANDIDATES.index(tuned.best)
    assert tuned.times_ns[best] == min(tuned.times_ns.values())
    again = tuning.tune_gemm(*SIZES, cache=cache)
    assert again.from_cache and again.best == tuned.best
    [key] = json.loads(cache.read_text())
    assert kiln.__version__ in key and blas.get_target() in key and "300x512x700" in key


def test_executors_find_the_same():
    alone = tuning.tune_gemm(*SIZES, cache=False)
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        assert tuning.tune_gemm(*SIZES, cache=False, executor=threads).times_ns == alone.times_ns
    spawn = multiprocessing.get_context("spawn")  # a fork does not have the threads that earlier calls began
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as process:
        assert tuning.tune_gemm(*SIZES, cache=False, executor=process).times_ns == alone.times_ns


def test_another_version_tunes_again(tmp_path):
    cache = tmp_path / "tune.json"
    tuning.tune_gemm(*SIZES, cache=cache)
    text = cache.read_text()
    cache.write_text(text.replace(f"kiln {kiln.__version__}", "kiln 0.0.1"))
    assert not tuning.tune_gemm(*SIZES, cache=cache).from_cache
    for broken in ("", "[]", "{"):
        cache.write_text(broken)
        assert not tuning.tune_gemm(*SIZES, cache=cache).from_cache


def test_a_bar_on_a_terminal(capsys):
    tuning.tune_gemm(*SIZES, cache=False, progress=True)
    shown = capsys.readouterr().err
    assert shown.endswith(f"{len(tuning.GEMM_CANDIDATES)}/{len(tuning.GEMM_CANDIDATES)}\n") and "####" in shown
    tuning.tune_gemm(*SIZES, cache=False)
    assert capsys.readouterr().err == ""


def test_candidates_that_cannot_be_built_do_not_win():
    tuned = tuning.tune_gemm(*SIZES, target="trn1", cache=False)
    assert float("inf") in tuned.times_ns.values()
    assert tuned.times_ns[tuning.GEMM_CANDIDATES.index(tuned.best)] < float("inf")
    with pytest.raises(ValueError, match="none of 1 is legal"):
        tune.tune("none", [64], lambda c: kiln._kiln.blas.gemm_program(9, 9, 9, m_tiles=c, n_tiles=c), cache=False)


def program_of(candidate):
    return kiln._kiln.blas.gemm_program(64, 64, 64 * candidate)


def test_any_kernel_can_be_tuned():
    assert tune.tune("mine", [3, 1, 2], program_of, cache=False).best == 1
    assert tune.tune("equal", [2, 2.0], lambda _: program_of(1), cache=False).best == 2
    with pytest.raises(ValueError, match="^candidates:"):
        tune.tune("none", [], program_of, cache=False)
    with pytest.raises(ValueError, match="^M:"):
        tuning.tune_gemm(0, 1, 1)
