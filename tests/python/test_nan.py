"""The first NaN or infinity that an instruction makes: line, pass, operands; off, warn, error."""

import json
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import kiln
import kiln.nki as nki
import kiln.nki.isa as nisa
import kiln.nki.language as nl


def divide(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // 128):
        for j in range(x.shape[1] // 8):
            part = (slice(i * 128, (i + 1) * 128), slice(j * 8, (j + 1) * 8))
            a, b = nl.load(x[part]), nl.load(y[part])
            nl.store(out[part], nl.multiply(a, nl.reciprocal(b)))
    return out


def arguments():
    x, y = np.full((512, 32), 6, np.float32), np.full((512, 32), 2, np.float32)
    y[128 * 2 + 5, 8 * 1 + 3] = 0
    y[128 * 3, 0] = 0
    return x, y


def caught(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in found if issubclass(w.category, nki.NkiWarning)]


def test_line_pass_and_operands():
    [text] = caught(lambda: nki.simulate(divide)(*arguments()))
    assert text.startswith("warning[run.R15]: ")
    assert "[5, 3]" in text and "is inf" in text
    assert "nl.store(out[part], nl.multiply(a, nl.reciprocal(b)))" in text
    assert "= pass: i=2, j=1" in text
    assert "= operands: " in text


def test_error():
    with pytest.raises(kiln.NkiValidationError, match="run.R15") as error:
        nki.simulate(divide, nan="error")(*arguments())
    assert ("pass", "i=2, j=1") in error.value.diagnostics[0].facts


def test_off(monkeypatch):
    assert caught(lambda: nki.simulate(divide, nan="off")(*arguments())) == []
    monkeypatch.setenv("KILN_NAN", "off")
    assert caught(lambda: divide_kernel(*arguments())) == []


divide_kernel = nki.jit(divide)


def test_the_environment(monkeypatch):
    monkeypatch.setenv("KILN_NAN", "error")
    with pytest.raises(kiln.NkiValidationError, match="run.R15"):
        divide_kernel(*arguments())
    assert len(caught(lambda: nki.simulate(divide_kernel, nan="warn")(*arguments()))) == 1
    monkeypatch.setenv("KILN_NAN", "never")
    with pytest.raises(kiln.NkiConfigError, match="nki.R88"):
        divide_kernel(*arguments())


def test_a_mode_that_does_not_exist():
    with pytest.raises(kiln.NkiConfigError, match="nki.R88"):
        nki.simulate(divide, nan="sometimes")


def test_masks_are_meant():
    """A causal mask of -inf, and a softmax over it."""

    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        nisa.affine_select(dst=tile, pattern=[[-1, 128]], channel_multiplier=1, on_true_tile=tile,
                           on_false_value=float("-inf"), cmp_op=nl.greater_equal)
        nl.store(out, nl.softmax(tile, axis=1))
        return out

    x = np.random.default_rng(3).normal(size=(128, 128)).astype(np.float32)
    got = []
    assert caught(lambda: got.append(nki.simulate(kernel)(x))) == []
    masked = np.where(np.tril(np.ones((128, 128), bool)), x, -np.inf)
    e = np.exp(masked - masked.max(axis=1, keepdims=True))
    np.testing.assert_allclose(got[0], e / e.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("dtype, end", [(nl.float16, "65504"), (nl.float8_e4m3, "240"), (nl.float8_e5m2, "57344")])
def test_numbers_that_do_not_fit(dtype, end):
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(x.shape, dtype=dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=tile, src=nl.load(x))
        nl.store(out, tile)
        return out

    x = np.ones((128, 8), np.float32)
    x[7, 2] = -1e5
    [text] = caught(lambda: nki.simulate(kernel)(x))
    assert f"warning[run.R16]: element [7, 2] of `tile` is -inf; {dtype} ends at {end}" in text
    assert "= operands: src is -100000" in text


SCRIPT = textwrap.dedent("""
    import numpy as np
    import nki
    import nki.language as nl

    @nki.jit
    def invert(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.reciprocal(nl.load(x)))
        return out

    print(invert(np.zeros((4, 4), np.float32))[0, 0])
    """)


@pytest.mark.parametrize("option, code, said", [
    ([], 0, "warning[run.R15]"), (["--nan", "warn"], 0, "warning[run.R15]"), (["--nan", "off"], 0, None),
    (["--nan", "error"], 1, "error[run.R15]")])
def test_the_command_line(tmp_path, option, code, said):
    (tmp_path / "invert.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "-m", "kiln", "run", *option, "invert.py"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert ("inf" in done.stdout) == (code == 0)
    if said is None:
        assert "R15" not in done.stderr
    else:
        assert said in done.stderr


def test_a_program_in_text_says_the_same(tmp_path):
    program = kiln.program(divide, *arguments())
    program.save(tmp_path / "divide.kiln")
    for name, array in zip("xy", arguments()):
        np.save(tmp_path / f"{name}.npy", array)
    words = ["run", "divide.kiln", "--in", "x=x.npy", "--in", "y=y.npy", "--print", "--json"]
    done = subprocess.run([sys.executable, "-m", "kiln", *words], cwd=tmp_path, capture_output=True, text=True)
    [found] = json.loads(done.stdout)["diagnostics"]
    assert (found["code"], found["severity"]) == ("run.R15", "warning")
    done = subprocess.run([sys.executable, "-m", "kiln", *words, "--nan", "error"], cwd=tmp_path, capture_output=True,
                          text=True)
    assert done.returncode == 1
