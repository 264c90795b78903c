"""The runner itself: a wrong expectation must fail, and a file that breaks the format must be reported."""

import numpy as np
import pytest

import case_file
import oracle
import runner

PROGRAM = """  tensor a: input sbuf float32 [4, 4]
  tensor b: input sbuf float32 [4, 4]
  tensor o: output sbuf float32 [4, 4]
  tensor_tensor(dst=o, data1=a, data2=b, op=add)
"""
PSUM = PROGRAM.replace("input sbuf", "input psum")
FOUND = 'found "both in PSUM"\n'


def cases_of(tmp_path, text):
    path = tmp_path / "tensor_tensor.test"
    path.write_text(text)
    return case_file.read.__wrapped__(path)


def judge(tmp_path, text):
    cases, error = cases_of(tmp_path, text)
    assert error is None, str(error)
    return [runner.judge(result) for result in runner.run_cases(cases).values()]


@pytest.mark.parametrize(
    "text",
    [
        f"accept sum\n{PROGRAM}expect o == a + b\n",
        f"accept close sum\nin a = normal()\nin b = normal()\n{PROGRAM}expect o ~ f64(a) + f64(b) within 1 ulp\n",
        f"accept a part\n{PROGRAM}expect o[:, 0:2] == (a + b)[:, 0:2]\n",
        f"reject R1 psum\n{PSUM}{FOUND}",
        f"for x y in a:b b:a\naccept $x and $y\n{PROGRAM}expect o == $x + ${{y}}\n",
        f"let p {{\n{PROGRAM}}}\naccept block\ntarget trn1 trn2 trn3\nuse p\nexpect o == \\\n a + b\n",
    ],
)
def test_right_cases_pass(tmp_path, text):
    assert set(judge(tmp_path, text)) == {None}


@pytest.mark.parametrize(
    "text, problem",
    [
        (f"accept x\n{PROGRAM}in a = full(1)\nin b = full(2)\nexpect o == a - b\n", "16 of 16 elements differ"),
        (f"accept x\nin a = full(1)\nin b = arange()\n{PROGRAM}expect o == np.minimum(a + b, 15)\n", "first at [3, 3]"),
        (f"accept x\nin a = full(0)\nin b = full(0)\n{PROGRAM}expect o == -0.0\n", "differ"),
        (f"accept x\nin a = full(1)\nin b = full(2)\n{PROGRAM}expect o ~ 3 + 2e-6 within 1e-7\n", "differ"),
        (f"accept x\nin a = full(1)\nin b = full(2)\n{PROGRAM}expect o ~ 3 + 2e-6 within 2 ulp\n", "differ"),
        (f"accept x\nin a = full(3e38)\nin b = full(0)\n{PROGRAM}expect o ~ 1e39 within 1e-3\n", "differ"),
        (f"accept x\n{PSUM}expect o == a + b\n", "status rejected, expected ok"),
        (f"accept x\n{PROGRAM}expect o == a + c\n", "name 'c' is not defined"),
        (f"accept x\nin a = normal(\n{PROGRAM}expect o == a + b\n", "an expression of the case fails"),
        (f"reject R1 x\n{PROGRAM}{FOUND}", "status ok, expected rejected"),
        (f"reject R2 x\n{PSUM}{FOUND}", "expected exactly tensor_tensor.R2"),
        (f"reject R1,R2 x\n{PSUM}{FOUND}", "expected exactly tensor_tensor.R1, tensor_tensor.R2"),
        (f"reject R1 psum\n{PSUM}", "the rejected case 'psum' does not say what is found"),
        (f"reject R1 empty\n{PSUM}found \"\"\n", "the rejected case 'empty' does not say what is found"),
        (f"reject R1 x\n{PSUM}found \"in HBM\"\n", "no diagnostic has found 'in HBM'"),
        (f"warn R1 x\n{PROGRAM}", "expected exactly tensor_tensor.R1"),
        (f"fail R1 x\n{PROGRAM}", "status ok, expected failed"),
    ],
)
def test_wrong_cases_fail(tmp_path, text, problem):
    (told,) = judge(tmp_path, text)
    assert told is not None and problem in told


@pytest.mark.parametrize(
    "text, problem",
    [
        (f"accept x\n{PROGRAM}", "output o has no `expect`"),
        (f"accept x\n{PROGRAM}expect q == a\n", "no such output"),
        (f"accept x\n{PROGRAM}in o = normal()\nexpect o == a\n", "no such input"),
        (f"accept x\n{PROGRAM}expect o = a\n", "write `expect"),
        (f"accept x\n{PROGRAM}expect o ~ a + b\n", "needs a tolerance"),
        (f"accept x\n{PROGRAM}expects o == a\n", "'expects' is no keyword"),
        (f"accept x\n{PROGRAM}expect o == a\naccept x\n{PROGRAM}expect o == a\n", "two cases have the title"),
        (f"accept $dt\n{PROGRAM}expect o == a\n", "no variable $dt"),
        ("accept x\nuse nowhere\n", "no block nowhere"),
        ("let p {\n  tensor\n", "has no end"),
        ("for a b in 1:2 3\naccept $a\n", "every value has 2 parts"),
        ("for a in 1\nin b = 1\n", "`for` stands above"),
        ("accept x\n  tensor a: input sbuf float32 [4, 4]\n", "`expect nothing`"),
        ("accept x\nexpect nothing\n", "no program"),
        (f"reject nonsense x\n{PROGRAM}", "'nonsense' is no label"),
        (f"reject R1 x\n{PROGRAM}expect o == a\n", "no results to expect"),
        ("target trn1\n", "stands above the first case"),
    ],
)
def test_malformed_files_are_reported(tmp_path, text, problem):
    cases, error = cases_of(tmp_path, text)
    assert not cases and problem in str(error)


def test_a_case_that_ends_the_driver_does_not_hide_the_others(tmp_path, monkeypatch):
    crashing = tmp_path / "crashing"
    crashing.write_text('#!/bin/sh\nfor c in "$1"/*/; do\n  [ -e "$c/result.json" ] && continue\n'
                        'case "$c" in *0001/) kill -9 $$;; esac\n'
                        'echo \'{"status": "rejected", "diagnostics": []}\' > "$c/result.json"\ndone\n')  # fmt: skip
    crashing.chmod(0o755)
    monkeypatch.setattr(runner, "DRIVER", crashing)
    text = "".join(f"reject R1 {n}\n{PSUM}{FOUND}" for n in range(3))
    cases, _ = cases_of(tmp_path, text)
    results = runner.run_cases(cases)
    assert [r.result["status"] for r in results.values()] == ["rejected", "crashed", "rejected"]


def test_conversions_of_the_oracle():
    x = np.array([0.5, 1.5, 2.5, -0.5, 300, -300, np.nan, np.inf], np.float32)
    assert oracle.cast(x, "int8").tolist() == [0, 2, 2, 0, 127, -128, 0, 127]
    assert oracle.cast(x, "uint8").tolist() == [0, 2, 2, 0, 255, 0, 0, 255]
    assert oracle.cast(np.array([2**24 + 1]), "int32").tolist() == [2**24 + 1]
    assert oracle.cast(np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11]), "tfloat32").tolist() == [1, 1 + 2.0**-9]
    assert oracle.cast(np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8]), "bfloat16").astype(float).tolist() == [1, 1 + 2.0**-6]
    values = np.array([[0.5, -1.5, 6, 0, 1, 2, 3, 4]], np.float32)
    for dtype in oracle.PACKED:
        assert oracle.unpack(oracle.pack(values, dtype), dtype).tolist() == values.tolist()
    assert oracle.pack(values, "float4_e2m1fn_x4").tolist() == [[0x07B1, 0x6542]]
