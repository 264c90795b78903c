"""kiln compile and kiln opt: passes as text, files, reports, errors; and the emitted source is the same program."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import kiln
from kiln import _kiln

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
sys.path[:0] = [str(SOURCE / "tests" / "emit")]
kiln.activate()

import round_trip  # noqa: E402

SEED = int(os.environ.get("KILN_SEED", np.random.SeedSequence().entropy % 2**32))
SOFTMAX = """kt 1
program "softmax"
x: float32[200, 96] = input(name="x")
m = max(x, axes=[1], keepdims=true)
d = subtract(x, m)
e = exp(d)
s = sum(e, axes=[1], keepdims=true)
y = divide(e, s)
output "y" = y
"""
MLP = """kt 1
program "mlp"
x: bfloat16[130, 96] = input(name="x")
w: bfloat16[96, 160] = input(name="w")
u: bfloat16[160, 96] = input(name="u")
c: float32[2, 80] = constant(numbers=[{}])
h = matmul(x, w)
g = silu(h)
r = reshape(c, shape=[160])
b = add(g, r)
q = cast(b, dtype=bfloat16)
y = matmul(q, u)
t = transpose(y, perm=[1, 0])
output "y" = t
""".format(", ".join(str(i * 0.25) for i in range(160)))


def kiln_command(*words, **options):
    return subprocess.run([BUILD / "cli" / "kiln", *map(str, words)], capture_output=True, text=True, **options)


def cases():
    for path in sorted((SOURCE / "tests" / "tensor" / "passes").glob("*.txt")):
        for title, text in re.findall(r"^== ([^\n]*)\n(.*?)(?=^== |\Z)", path.read_text(), re.M | re.S):
            before, name, after = re.split(r"^-- (\S+)\n", text, maxsplit=1, flags=re.M)
            yield pytest.param(before, name, after.strip(), id=f"{path.stem}: {title}")


@pytest.mark.parametrize("before, name, after", cases())
def test_passes(before, name, after):
    done = kiln_command("opt", "-", "--passes", name, input=before)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == after


@pytest.mark.parametrize("text", [SOFTMAX, MLP], ids=["softmax", "mlp"])
@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_emitted_source_is_the_same_program(text, target, tmp_path):
    print(f"KILN_SEED={SEED}")
    (tmp_path / "program.kt").write_text(text)
    for name in ("program.kiln", "program.py"):
        done = kiln_command("compile", tmp_path / "program.kt", "--target", target, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
    program = _kiln.parse_program((tmp_path / "program.kiln").read_text(), "program.kiln")
    _, kernel = round_trip.load((tmp_path / "program.py").read_text(), tmp_path)
    again = round_trip.trace(kernel, [program])
    assert round_trip.normal_text(again[0]) == round_trip.normal_text(program)
    arrays = round_trip.random_arrays([program], SEED)
    first = round_trip.run([program], arrays)
    second = round_trip.run(again, round_trip.random_arrays(again, SEED))
    for one, other in zip(first.values(), second.values(), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_constants_are_files(tmp_path):
    (tmp_path / "mlp.kt").write_text(MLP)
    done = kiln_command("compile", tmp_path / "mlp.kt", "-o", tmp_path / "mlp.kiln", "--report")
    assert done.returncode == 0, done.stderr
    assert "instructions in 1 groups" in done.stdout
    assert (np.load(tmp_path / "mlp.const0.npy").ravel() == np.arange(160) * 0.25).all()
    assert kiln_command("check", tmp_path / "mlp.kiln").returncode == 0


@pytest.mark.parametrize("text, code, line", [
    ('kt 1\nprogram "p"\nx: float32[4] = input(name="x")\ny = foo(x)\n', "tensor.R18", 4),
    ('kt 1\nprogram "p"\nx: float32[4] = input(name="x")\ny = add(x, z)\n', "tensor.R18", 4),
    ('kt 1\nprogram "p"\nx: float32[4] = input(name="x")\nb: float32[3] = input(name="b")\ny = add(x, b)\n',
     "tensor.R2", 5),
    ('kt 1\nprogram "p"\nx: int32[4] = input(name="x")\n\ny = power(x, x)\noutput "y" = y\n', "tensor.R17", 5),
])
def test_errors_have_the_line(text, code, line, tmp_path):
    path = tmp_path / "program.kt"
    path.write_text(text)
    done = kiln_command("compile", path)
    assert done.returncode in (1, 2) and f"[{code}]" in done.stderr and f"{path}:{line}" in done.stderr


def test_unknown_pass():
    done = kiln_command("opt", "-", "--passes", "nothing", input=SOFTMAX)
    assert done.returncode == 2 and "canonicalize, decompose" in done.stderr
