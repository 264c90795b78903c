"""Emitted source, traced again: the same program in normal form, the same bits, the same predicted time; a clean lint.

Inputs are random; KILN_SEED repeats a run.
"""

import base64
import contextlib
import importlib
import io
import os
import pathlib
import re
import subprocess
import sys
import warnings
import zlib

import ml_dtypes
import numpy as np
import pytest

import kiln
from kiln import _emit, _kiln, lint
from kiln.nki import isa as nisa
from kiln.nki import language as nl

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
sys.path[:0] = [str(SOURCE / "examples" / "nki"), str(SOURCE / "tests" / "emit")]
kiln.activate()

import round_trip  # noqa: E402

SEED = int(os.environ["KILN_SEED"])
CPP_EXAMPLES = ["attention", "block_sparse", "complex_gemm", "gemm", "rms_norm", "softmax", "tensor_add"]
PYTHON_EXAMPLES = sorted(p.stem for p in (SOURCE / "examples" / "nki").glob("*.py") if p.stem != "tiles")


@pytest.fixture(autouse=True)
def seed():
    print(f"KILN_SEED={SEED}")  # pytest shows it when a test fails


def bits(programs, seed=SEED):
    """What the programs leave in the arrays of their border, in order; or the rule that ends the run."""
    try:
        return list(round_trip.run(programs, round_trip.random_arrays(programs, seed)).values())
    except kiln.NkiValidationError as error:
        return error.code


def require_clean(path):
    """No finding of ruff and of the language lint, and no line over 100 columns."""
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--no-cache", "--config",
                           str(SOURCE / "pyproject.toml"), "--line-length", "100", path],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not lint.check_file(path)


def instructions(source):
    return len(re.findall(r"^ *(?:\w+ = )?nisa\.\w+\(", source, re.M))


def require_round_trip(programs, source, folder):
    path, kernel = round_trip.load(source, folder)
    again = round_trip.trace(kernel, programs)
    for ours, theirs in zip(programs, again, strict=True):
        assert round_trip.normal_text(theirs) == round_trip.normal_text(ours)
        assert theirs.check().ok
    assert bits(again) == bits(programs)
    before, after = (round_trip.time_ns(p) for p in (programs, again))
    assert after == pytest.approx(before, rel=0.01)
    require_clean(path)
    # What the trace has unrolled is rolled up again: no more instructions are written than the program had.
    for text in (source, _kiln.emit(again)):
        assert instructions(text) <= sum(p.instruction_count for p in programs)


@pytest.mark.parametrize("target", ["trn2", "trn3"])
@pytest.mark.parametrize("example", CPP_EXAMPLES)
def test_cpp_example(example, target, tmp_path):
    text = subprocess.run([BUILD / "examples" / "cpp" / example, "--text", "--target", target], check=True,
                          capture_output=True, text=True).stdout
    program = _kiln.parse_program(text, example)
    require_round_trip([program], _kiln.emit([program]), tmp_path)


@pytest.mark.parametrize("example", PYTHON_EXAMPLES)
def test_python_example(example, tmp_path):
    with round_trip.Captured() as captured, contextlib.redirect_stdout(io.StringIO()):
        importlib.import_module(example).main()
    assert captured.traces
    for cores in captured.traces:
        require_round_trip([core.program() for core in cores], _emit.of_cores(cores), tmp_path)


def test_emitted_attention_is_not_much_longer_than_the_python_example(tmp_path):
    text = subprocess.run([BUILD / "examples" / "cpp" / "attention", "--text"], check=True, capture_output=True,
                          text=True).stdout
    lines = _kiln.emit([_kiln.parse_program(text, "attention")]).count("\n")
    assert lines <= 1.5 * (SOURCE / "examples" / "nki" / "attention.py").read_text().count("\n")


def emitted_and_traced_again(kernel, array, folder):
    with round_trip.Captured() as captured:
        kiln.nki.simulate(kernel)(array)
    (cores,) = captured.traces
    source = _emit.of_cores(cores)
    require_round_trip([core.program() for core in cores], source, folder)
    return source


def small_copies(x):
    """A loop of small instructions, which the vendor's compiler runs together, in one that it does not."""
    out = nl.ndarray((128, 5 * 32), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.sequential_range(5):
        tile = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.sbuf)
        turned = nl.ndarray((128, 4, 8), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[:, nl.ds(i * 32, 32)])
        for j in nl.affine_range(4):
            nisa.tensor_copy(dst=turned[:, j, :], src=tile.reshape((128, 8, 4))[:, :, j])
        nisa.dma_copy(dst=out[:, nl.ds(i * 32, 32)], src=turned.reshape((128, 32)))
    return out


def test_a_loop_whose_passes_run_together_stays_one(tmp_path):
    source = emitted_and_traced_again(small_copies, np.ones((128, 160), np.float32), tmp_path)
    assert "for i in range(5):" in source and "for j in nl.affine_range(4):" in source


def loads_and_stores(x):
    """What nl.load and nl.store make, and a DMA of nki.isa beside it, whose queue is another."""
    out = nl.ndarray((512, 64), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    kept = []
    for i in range(3):
        kept.append(nl.load(x[nl.ds(i * 128, 128)], dtype=nl.bfloat16))
    last = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.dma_copy(dst=last, src=x[384:512])
    for i in range(3):
        nl.store(out[nl.ds(i * 128, 128)], kept[i])
    nisa.dma_copy(dst=out[384:512], src=last)
    return out


def test_loads_and_stores_stay_what_they_are(tmp_path):
    source = emitted_and_traced_again(loads_and_stores, np.ones((512, 64), np.float32), tmp_path)
    assert [source.count(name) for name in ("nl.load(", "nl.store(", "nisa.dma_copy(")] == [1, 1, 2]


def many_places(a_tensor_with_a_name_of_some_length):
    x = a_tensor_with_a_name_of_some_length
    out = nl.ndarray((23040,), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(4):
        for j in range(8):
            for k in range(4):
                for m in range(3):
                    place = 5760 * i + 700 * j + 170 * k + m * 50
                    nisa.dma_copy(dst=out[nl.ds(place, 40)], src=x.reshape((23040,))[nl.ds(place, 40)])
    return out


def test_sums_are_cut_where_a_line_is_too_short(tmp_path):
    source = emitted_and_traced_again(many_places, np.ones((160, 144), np.float32), tmp_path)
    assert max(map(len, source.splitlines())) <= 100


def many_results(x):
    made = []
    for i in range(6):
        a_result_among_many = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name=f"a_result_among_many_{i}")
        nisa.dma_copy(dst=a_result_among_many, src=x)
        made.append(a_result_among_many)
    return tuple(made)


def test_many_results_take_several_lines(tmp_path):
    source = emitted_and_traced_again(many_results, np.ones((8, 8), np.float32), tmp_path)
    assert "    return (a_result_among_many" in source


@pytest.mark.parametrize("version", ["tiled", "hoisted", "blocked_free", "blocked"])
def test_a_traced_matmul_rolls_back(version):
    kernel = getattr(importlib.import_module("matmul"), version)
    source = kiln.emit(kernel)("bfloat16[4096,4096]", "bfloat16[4096,4096]")
    assert source.count("\n") < 60


@pytest.fixture(scope="module")
def random_programs(tmp_path_factory):
    """Lists of programs, one per core, that pass check."""
    folder = tmp_path_factory.mktemp("random")
    first = SEED % 10**9
    subprocess.run([BUILD / "tests" / "emit" / "write_random_programs", folder, str(first), "120"], check=True)
    found = {}
    for path in sorted(folder.glob("*.kiln")):
        found.setdefault(path.name.split(".")[0], []).append(_kiln.parse_program(path.read_text(), path.name))
    return found


def require_same_meaning(number, programs, source, folder):
    """A random program may break a rule in one pass of a loop only, which the check of the loop does not see."""
    path, kernel = round_trip.load(source, folder)
    try:
        again = round_trip.trace(kernel, programs)
    except kiln.NkiValidationError as error:
        assert not all(_kiln.normal_form(p).check().ok for p in programs), (number, error)
        return None
    if not any(re.search(r"^ *while ", str(p), re.M) for p in programs):  # those get a copy of their condition
        for ours, theirs in zip(programs, again, strict=True):
            assert round_trip.normal_text(theirs) == round_trip.normal_text(ours), number
    assert bits(again) == bits(programs), number
    return again


def test_random_programs(random_programs, tmp_path):
    emitted = 0
    for number, programs in random_programs.items():
        try:
            source = _kiln.emit(programs)
        except kiln.NkiValidationError as error:
            assert error.code in ("emit.R3", "emit.R4", "emit.R5"), number
            continue
        emitted += 1
        assert source == _kiln.emit(programs)
        again = require_same_meaning(number, programs, source, tmp_path)
        if again is not None:  # once more: what was rolled up, from what a trace has unrolled
            require_same_meaning(number, again, _kiln.emit(again), tmp_path)
    assert emitted > 10


def load(x, rows):
    tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype)
    nisa.dma_copy(dst=tile, src=x[rows])
    return tile


def one_kernel(x):
    """Both cores do the same with rows of their own."""
    core = nl.program_id(0)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(2):
        rows = nl.ds((2 * core + i) * 128, 128)
        nisa.dma_copy(dst=out[rows], src=load(x, rows))
    nisa.core_barrier(data=out, cores=(0, 1))
    return out


def two_branches(x):
    """Core 1 does more."""
    core = nl.program_id(0)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    eye = nl.shared_identity_matrix(64, dtype=nl.float32)
    for i in range(2):
        rows = nl.ds((2 * core + i) * 128, 128)
        tile = load(x, rows)
        if core == 1:
            nisa.tensor_tensor(dst=tile[0:64], data1=tile[0:64], data2=eye, op=nl.add)
        nisa.dma_copy(dst=out[rows], src=tile)
    return out


def shared_by_name(x):
    """Core 0 has two shared tensors, core 1 sees the second one."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    if nl.program_id(0) == 0:
        part = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="part_1")
        nisa.dma_copy(dst=part[0:256], src=x[256:512])
        nisa.dma_copy(dst=out[0:256], src=part[0:256])
    both = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="part_2")
    if nl.program_id(0) == 0:
        nisa.dma_copy(dst=both, src=x)
    nisa.core_barrier(data=both, cores=(0, 1))
    if nl.program_id(0) == 1:
        nisa.dma_copy(dst=out[256:512], src=both[0:256])
    return out


@pytest.mark.parametrize("function, branches", [(one_kernel, 0), (two_branches, 1), (shared_by_name, 1)])
def test_pair_of_cores(function, branches, tmp_path):
    kernel = kiln.nki.jit(function)[2]
    source = kiln.emit(kernel)("float32[512,64]")
    assert source.count("else:") == branches
    x = np.random.default_rng(SEED).standard_normal((512, 64)).astype(np.float32)
    path, again = round_trip.load(source, tmp_path)
    assert again[2](x).tobytes() == kernel(x).tobytes()
    require_clean(path)


def test_results_come_in_the_order_of_the_kernel(tmp_path):
    def kernel(x):
        first = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        second = nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=first, src=x)
        nisa.dma_copy(dst=second, src=x)
        return {"b": second, "a": first}

    assert kiln.emit(kernel)("float32[128,8]").splitlines()[-1] == "    return second, first"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3", "int32", "bool_"])
def test_main_runs(dtype, tmp_path):
    def kernel(x):
        out = nl.ndarray((64, 8), dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=x)
        return out

    path = tmp_path / "emitted.py"
    path.write_text(kiln.emit(kernel, main=True)(f"{dtype}[64,8]"))
    done = subprocess.run([sys.executable, "-m", "kiln", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("out (64, 8) ")
    require_clean(str(path))


@pytest.mark.parametrize("array, text", [
    (np.eye(4, dtype=np.float32), "np.eye(4, dtype=np.float32)"),
    (np.zeros((3, 2), np.int32), "np.zeros((3, 2), dtype=np.int32)"),
    (np.ones((3,), np.float16), "np.ones((3,), dtype=np.float16)"),
    (np.array([[1, 5]], np.int32), "np.array([[1, 5]], dtype=np.int32)"),
    (np.arange(600, dtype=np.float32) / 7, None),
    (np.arange(600, dtype=np.int32).reshape(2, 300), "np.arange(600, dtype=np.int32).reshape((2, 300))"),
    (np.full((4, 5), 2.5, ml_dtypes.bfloat16), "np.full((4, 5), 2.5, dtype=ml_dtypes.bfloat16)"),
    (np.ones((2, 3), bool), "np.ones((2, 3), dtype=np.bool_)"),
    (np.arange(16, dtype=np.float64) / 7, None),  # a list of them is too long
    (np.triu(np.full((64, 64), -np.inf, np.float32)), None),
    (np.array([np.nan, -0.0], np.float32), None),
])
def test_constants_are_made_again(array, text):
    made = _emit._array_text(array)
    assert text is None or made == text
    again = eval(made, {"np": np, "ml_dtypes": ml_dtypes, "base64": base64, "zlib": zlib})
    assert (again.dtype, again.shape, again.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert len(made.splitlines()[0]) <= 84 and max(map(len, made.splitlines())) <= 100  # behind `CONSTANT_99 = `
    assert made.count("\n") < 40


def many_constants(x):
    """More than ten, none used in the order in which they are made."""
    out = nl.ndarray((1, 8), dtype=nl.float32, buffer=nl.shared_hbm)
    constants = [nl.shared_constant(np.full((1, 8), 3 * i, np.float32)) for i in range(12)]
    total, tile = (nl.ndarray((1, 8), dtype=nl.float32) for _ in range(2))
    nisa.dma_copy(dst=total, src=x)
    for constant in reversed(constants):
        nisa.dma_copy(dst=tile, src=constant)
        nisa.tensor_tensor(dst=total, data1=tile, data2=total, op=nl.subtract)
    nisa.dma_copy(dst=out, src=total, name="np.base64.zlib.")
    return out


def test_constants_keep_their_order(tmp_path):
    source = kiln.emit(many_constants)("float32[1,8]")
    path, again = round_trip.load(source, tmp_path)
    require_clean(path)
    assert kiln.emit(again)("float32[1,8]") == source
    x = np.random.default_rng(SEED).standard_normal((1, 8)).astype(np.float32)
    expected = x
    for i in reversed(range(12)):
        expected = np.float32(3 * i) - expected
    assert again(x).tobytes() == expected.tobytes()


def test_what_is_imported_is_used(tmp_path):
    def kernel(inp, panel_nl, ml_dtypes_1):
        """Names that end as modules begin."""
        out = nl.ndarray((64, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out.reshape((8, 64)), src=inp.reshape((8, 64)))
        nisa.dma_copy(dst=out.reshape((8, 64)), src=panel_nl.reshape((8, 64)))
        nisa.dma_copy(dst=out, src=ml_dtypes_1)
        return out

    path, _ = round_trip.load(kiln.emit(kernel)(*["float32[64,8]"] * 3), tmp_path)
    require_clean(path)


def test_what_ranks_exchange_has_a_name(tmp_path):
    """The device's compiler wants one, and Kiln warns where it is missing."""
    file = SOURCE / "tests" / "explain" / "files" / "ranks.kiln"
    program = _kiln.parse_program(file.read_text(), file.name)
    path, kernel = round_trip.load(_kiln.emit([program]), tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (again,) = round_trip.trace(kernel, [program])
    assert round_trip.normal_text(again) == round_trip.normal_text(program)
    require_clean(path)
