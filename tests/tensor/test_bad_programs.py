"""Tensor programs that are none: what is said, with line and column, and never a fault of the compiler or a wrong
program."""

import json
import os
import pathlib
import random
import re
import subprocess

import pytest

import kiln
import kiln.numpy  # exceptions of the native half are those of Kiln then
from kiln import _kiln

SOURCE = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
BUILD = pathlib.Path(os.environ["KILN_BUILD_DIR"])
SEED = int(os.environ["KILN_SEED"])

HEAD = 'kt 1\nprogram "p"\nx: float32[4, 8] = input(name="x")\n'


def said(text):
    with pytest.raises(kiln.NkiValidationError) as caught:
        _kiln.TensorGraph.parse(text, "p.kt").compile("trn2", 1, [], 1)
    return caught.value.diagnostics[0]


# What follows the head, the line and the column of what is wrong, and words of the message.
TEXTS = {
    "no op": ("y = softmaxx(x)\n", 4, 5, "`softmaxx` is no op"),
    "no value": ("y = add(x, z)\n", 4, 12, "`z` is no value yet"),
    "no dtype": ('z: float64[4] = input(name="z")\n', 4, 4, "`float64` is no dtype"),
    "no attribute": ("y = sum(x, axis=[0], keepdims=true)\n", 4, 12, "no attribute `axis`"),
    "attribute missing": ("y = sum(x, axes=[0])\noutput \"y\" = y\n", 4, 5, "needs the attribute `keepdims`"),
    "attribute twice": ("y = sum(x, axes=[0], axes=[1], keepdims=true)\n", 4, 22, "`axes` twice"),
    "another type": ('y: float32[4] = exp(x)\noutput "y" = y\n', 4, 1, "`y` is float32[4, 8]"),
    "name twice": ("x = exp(x)\n", 4, 1, "`x` is a value already"),
    "numbers alone": ('y = add(1.0, 2.0)\noutput "y" = y\n', 4, 5, "numbers alone"),
    "no truth": ("y = sum(x, axes=[0], keepdims=yes)\n", 4, 31, "`yes` where true or false is due"),
    "no list": ("y = sum(x, axes=1, keepdims=true)\n", 4, 17, "`1` where `[` is due"),
    "no comma": ("y = add(x x)\n", 4, 11, "`x` where `,` is due"),
    "no type": ('z = input(name="z")\noutput "z" = z\n', 4, 5, "input needs a type"),
    "the end": ("y = exp(x", 4, 0, "the end of the text where `,` is due"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_places_in_the_text(name):
    lines, line, column, words = TEXTS[name]
    d = said(HEAD + lines)
    assert (d.code, d.loc.file, d.loc.line, d.column) == ("tensor.R18", "p.kt", line, column)
    assert words in d.found and d.rule and d.help


def test_another_version():
    d = said('kt 2\nprogram "p"\n')
    assert (d.code, d.loc.line, d.column, d.allowed) == ("tensor.R18", 1, 4, "kt 1")


@pytest.mark.parametrize("numbers", ["1, 2, 3", ""])
def test_numbers_of_a_constant(numbers):
    d = said(f"{HEAD}c: float32[2, 2] = constant(numbers=[{numbers}])\n")
    assert (d.code, d.loc.line, d.allowed) == ("tensor.R14", 4, "one number, or 4")
    assert "one number, or one for each element" in d.rule


def test_operands_are_those_of_the_table():
    assert said(HEAD + "y = add(x, x, x)\n").allowed == "add(x, y)"
    assert said(HEAD + "y = exp()\n").allowed == "exp(x)"


def test_place_in_the_program_of_a_kernel():
    d = said(HEAD + 'y = kernel(x, program=[\n  "kiln 1",\n  "program \\"k\\" target trn2",\n  "foo"\n])\n')
    assert (d.loc.file, d.loc.line) == ("p.kt", 7) and "line 3" in d.found


# Extents, attributes and products of them that 63 bits do not hold, or no HBM.
@pytest.mark.parametrize(
    "x, line, at",
    [
        ("[9223372036854775807, 4]", "y = exp(x)", 3),
        ("[4294967296, 4294967296]", "y = exp(x)", 3),
        ("[3037000500, 3037000500]", "y = exp(x)", 3),
        ("[50, 1099511627777]", "y = sum(x, axes=[1], keepdims=true)", 3),
        ("[100000, 1000000]", "y = sum(x, axes=[1], keepdims=true)", 3),
        ("[4, 8]", "y = reshape(x, shape=[4294967296, 4294967296, 9223372036854775807])", 4),
        ("[4, 8]", "y = slice(x, starts=[0, 0], sizes=[4, 2], steps=[1, 9223372036854775807])", 4),
        ("[4, 8]", "y = pad(x, low=[0, 9223372036854775807], high=[0, 9223372036854775807], value=0.0)", 4),
        ("[4, 8]", "y = tile(x, counts=[4294967296, 4294967296])", 4),
        ("[4, 8]", "y = repeat(x, axis=0, counts=[4611686018427387905])", 4),
        ("[4, 8]", "y = diagonal(x, axis1=0, axis2=1, offset=-9223372036854775807)", 4),
    ],
)
def test_sizes(x, line, at):
    d = said(f'kt 1\nprogram "p"\nx: float32{x} = input(name="x")\n{line}\noutput "y" = y\n')
    assert d.code == "tensor.R28" and (d.loc.file, d.loc.line) == ("p.kt", at), d


def test_sums_of_nothing_are_one_number():
    """However many there are: 4 billion of them are never evaluated one by one."""
    g = _kiln.TensorGraph.parse('kt 1\nprogram "p"\nx: float32[0, 4294967296] = input(name="x")\n'
                                's = sum(x, axes=[0], keepdims=false)\ny = slice(s, starts=[5], sizes=[3], steps=[1])\n'
                                'm = mean(x, axes=[0], keepdims=false)\nz = slice(m, starts=[5], sizes=[3], steps=[1])'
                                '\noutput "y" = y\noutput "z" = z\n', "p.kt")
    text = str(g.compile("trn2", 2, [], 1).program)
    assert "y" in text and "z" in text


@pytest.mark.parametrize("mode, border", [("reflect", 2**31), ("wrap", 2**31), ("edge", 2**32), ("linear_ramp", 2**32)])
def test_borders_of_many_parts(mode, border):
    d = said(f'kt 1\nprogram "p"\nx: float32[4, 8] = input(name="x")\n'
             f'b = pad_with(x, low=[0, 0], high=[0, {border}], mode="{mode}")\n'
             'y = sum(b, axes=[1], keepdims=true)\noutput "y" = y\n')
    assert (d.code, d.category, d.loc.line) == ("tensor.R17", "not_yet", 4) and d.allowed, d


def test_an_error_without_a_diagnostic(tmp_path):
    """Python code that raises an error of Kiln with nothing in it."""
    assert kiln.NkiValidationError().diagnostics[0].found
    path = tmp_path / "model.py"
    path.write_text("import kiln\n\n\nclass Odd(kiln.NkiValidationError):\n    diagnostics = property(lambda self: [], "
                    "lambda self, x: None)\n\n\ndef f(x):\n    raise Odd()\n")
    for command in ("compile", "time"):
        done = subprocess.run([BUILD / "cli" / "kiln", command, f"{path}:f", "--arg", "x=float32[4]"],
                              capture_output=True, text=True)
        assert done.returncode in (1, 2) and "without a diagnostic" not in done.stderr, (command, done.stderr)
        assert "internal" not in done.stderr


TOKEN = re.compile(r'"[^"\n]*"|[A-Za-z_]\w*|-?\d+\.?\d*|\s+|.', re.S)
INTEGERS = ["0", "1", "2", "3", "7", "-1", "128", "1000", "4097", "1000000", "4294967296", "9223372036854775807"]
DTYPES = ["float32", "bfloat16", "float16", "int32", "uint32", "int8", "bool_", "float8_e4m3", "float64"]


def mutated(chosen, text):
    tokens = TOKEN.findall(text)
    kinds = {
        "integer": [i for i, t in enumerate(tokens) if re.fullmatch(r"-?\d+", t)],
        "dtype": [i for i, t in enumerate(tokens) if t in DTYPES],
        "op": [i for i, t in enumerate(tokens) if t in _kiln.tensor_ops()],
        "any": range(len(tokens)),
    }
    kind = chosen.choice([k for k, places in kinds.items() if places])
    at = chosen.choice(kinds[kind])
    instead = {"integer": INTEGERS, "dtype": DTYPES, "op": list(_kiln.tensor_ops()), "any": ["", "(", "]", '"', "\0"]}
    tokens[at] = chosen.choice(instead[kind])
    return "".join(tokens)


def small_texts():
    for path in sorted((SOURCE / "tests" / "tensor" / "passes").glob("*.txt")):
        yield from re.findall(r"^== [^\n]*\n(.*?)^-- ", path.read_text(), re.M | re.S)


def test_changed_programs():
    """Each is compiled, or refused at one of its lines."""
    chosen = random.Random(SEED)
    texts = list(small_texts())
    for _ in range(300):
        text = mutated(chosen, mutated(chosen, chosen.choice(texts)))
        try:
            _kiln.TensorGraph.parse(text, "p.kt").compile(chosen.choice(["trn1", "trn2", "trn3"]), 1, [], 1)
        except kiln.NkiValidationError as error:
            d = error.diagnostics[0]
            assert d.category != "internal" and d.code and d.rule and d.found and d.help, (d, text)
            assert d.loc.file == "p.kt" and d.loc.line > 0, (d, text)
            json.loads(d.to_json())
