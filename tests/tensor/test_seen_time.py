"""The time that `kiln compile --report` predicts is the one that `kiln time` shows, and the vendor's compiler, which
changes what a program leaves open, does not make programs slower."""

import json
import os
import pathlib
import re
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])


def program(x, lines, dtype="float32"):
    return f'kt 1\nprogram "p"\nx: {dtype}{x} = input(name="x")\n{lines}output "y" = y\n'


def normed(x, axis):
    kept = f"axes=[{axis}], keepdims=true"
    return program(x, f"m = mean(x, {kept})\nd = subtract(x, m)\nq = square(d)\nv = mean(q, {kept})\n"
                      "e = add(v, 0.001)\nr = rsqrt(e)\ny = multiply(d, r)\n")


def log_softmax(x):
    return program(x, "m = max(x, axes=[1], keepdims=true)\nd = subtract(x, m)\ne = exp(d)\n"
                      "s = sum(e, axes=[1], keepdims=true)\nl = log(s)\ny = subtract(d, l)\n")


PROGRAMS = {
    "running sums": program([577, 50257], "y = cumsum(x, axis=1)\n"),
    "norm": normed([3000, 5120], 1),
    "small norm": normed([128, 1024], 1),
    "log-softmax": log_softmax([4001, 2500]),
    "softmax of columns": program([2000, 1500], "m = max(x, axes=[0], keepdims=true)\nd = subtract(x, m)\ne = exp(d)\n"
                                                "s = sum(e, axes=[0], keepdims=true)\ny = divide(e, s)\n"),
    "sort": program([128, 500], "y = sort(x, axis=1, descending=false)\n"),
    "product": program([300, 700], 'w: float32[700, 520] = input(name="w")\np = matmul(x, w)\ny = tanh(p)\n'),
    "loop": program([64, 64], "y = for_loop(x, count=9, carried=1) {\n"
                              '  i: int32[] = input(name="i")\n  s: float32[64, 64] = input(name="s")\n'
                              '  p = matmul(s, s)\n  t = tanh(p)\n  output "next" = t\n}\n'),
}


def kiln_command(*words, text=None):
    done = subprocess.run([BUILD / "cli" / "kiln", *map(str, words)], capture_output=True, text=True, input=text)
    assert done.returncode == 0, done.stderr
    return done.stdout


def seen_us(file, *options):
    report, = json.loads(kiln_command("time", file, "--json", *options))["reports"]
    return report["total_ns"] / 1000


@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_report_says_the_time_that_is_seen(name, target, tmp_path):
    report = kiln_command("compile", "-", "--target", target, "--report", "-o", tmp_path / "p.kiln",
                          text=PROGRAMS[name])
    predicted = float(re.search(r"predicted (\S+) us", report)[1])
    seen = seen_us(tmp_path / "p.kiln")
    assert abs(predicted - seen) < 0.06
    assert seen <= 1.01 * seen_us(tmp_path / "p.kiln", "--as-written")


def test_report_of_several_kernels(tmp_path):
    path = tmp_path / "p.kt"
    path.write_text(PROGRAMS["log-softmax"])
    report = kiln_command("compile", path, "--kernel-ops", 3, "--report", "-o", tmp_path / "p.kiln")
    kernels = [float(t) for t in re.findall(r"^p_\d+ for trn2: .* predicted (\S+) us", report, re.M)]
    files = sorted(tmp_path.glob("p.kernel*.kiln"))
    assert len(kernels) == len(files) > 1
    for predicted, file in zip(kernels, files, strict=True):
        assert abs(predicted - seen_us(file)) < 0.06
