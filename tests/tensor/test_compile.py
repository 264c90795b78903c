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
sys.path[:0] = [str(SOURCE / "tests" / "emit"), str(SOURCE / "bench"), str(SOURCE / "tests" / "tensor")]
kiln.activate()

import broad_texts  # noqa: E402
import compile_kernels  # noqa: E402
import round_trip  # noqa: E402

SEED = int(os.environ["KILN_SEED"])
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


def attention_of(queries, keys, function, operands="", dtype="bfloat16"):
    """Attention whose scores `s0` go through a function that leaves `s`."""
    return f"""kt 1
program "attention"
q: {dtype}[1, {queries}, 16] = input(name="q")
k: {dtype}[1, {keys}, 16] = input(name="k")
v: {dtype}[1, {keys}, 16] = input(name="v")
{operands}
t = transpose(k, perm=[0, 2, 1])
s0 = matmul(q, t)
{function}
m = max(s, axes=[2], keepdims=true)
d = subtract(s, m)
e = exp(d)
z = sum(e, axes=[2], keepdims=true)
w = divide(e, z)
o = matmul(w, v)
output "o" = o
"""


RAMPS = """r: float32[600, 600] = iota(axis=0)
c: float32[600, 600] = iota(axis=1)
low = subtract(r, 150.0)
below = less_equal(c, r)
above = greater(c, low)
seen = logical_and(below, above)"""


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


# Every pattern, at small and odd shapes.
PATTERNS = {
    "softmax": SOFTMAX,
    "mlp with constants": MLP,
    "wide softmax": compile_kernels.softmax(130, 60001),
    "rms-norm": compile_kernels.rms_norm(130, 257),
    "rms-norm, quantise": compile_kernels.rms_norm(70, 300, True),
    "layer-norm": compile_kernels.layer_norm(33, 1000),
    "RoPE": compile_kernels.rope(140, 3, 32),
    "RoPE of columns": compile_kernels.rope_columns(16, 700),
    "transpose": compile_kernels.transpose(300, 200),
    "cumsum": compile_kernels.cumsum(130, 300),
    "product": compile_kernels.product((200, 300), (300, 400)),
    "product, turned": compile_kernels.product((200, 300), (300, 400), "ab", "bfloat16"),
    "product of a vector": compile_kernels.product((1, 700), (700, 600)),
    "long sums": compile_kernels.product((3, 9000), (9000, 20)),
    "parts of a matrix": compile_kernels.product((260, 2700), (2700, 2100), "", "bfloat16"),
    "batches": compile_kernels.batched(3, 140, 24, 150, True),
    "norm, product": compile_kernels.normed_product(140, 260, 600, True, True),
    "product, norm": compile_kernels.product_normed(140, 200, 600),
    "attention": compile_kernels.attention(2, 160, 32, "float32", log_sums=True),
    "attention, long": compile_kernels.attention(1, 700, 32, "bfloat16"),
    "attention, causal": compile_kernels.attention(1, 640, 32, "bfloat16", causal=True),
    "attention, chunks": compile_kernels.attention(1, 2200, 16, "bfloat16", causal=True),
    "attention of columns": compile_kernels.attention(1, 600, 64, "bfloat16", columns=True),
    "attention, bias": attention_of(300, 520, "s = add(s0, b)", 'b: bfloat16[300, 520] = input(name="b")'),
    "attention, cap": attention_of(260, 520, "h = tanh(s0)\ns = multiply(h, 3.0)", dtype="float32"),
    "attention, window": attention_of(600, 600, "s = where(seen, s0, -30000.0)", RAMPS),
    "attention, few queries": attention_of(3, 700, "s = add(s0, b)", 'b: bfloat16[700] = input(name="b")'),
    "MLP": compile_kernels.mlp(140, 200, 600, "bfloat16"),
    "SwiGLU": compile_kernels.swiglu(140, 200, 1100),
    **broad_texts.BROAD,
}


def normed(shape, axes, dtype="float32"):
    """Without its mean, over its deviation, along some axes."""
    kept = f"axes={axes}, keepdims=true"
    return f"""kt 1
program "normed"
x: {dtype}{shape} = input(name="x")
m = mean(x, {kept})
d = subtract(x, m)
q = square(d)
v = mean(q, {kept})
e = add(v, 0.001)
r = rsqrt(e)
y = multiply(d, r)
output "y" = y
"""


PATTERNS |= {
    "norm of columns": normed([200, 300], [0]),
    "norm of the middle": normed([3, 150, 140], [1], "bfloat16"),
    "norm of rows": normed([700, 600], [1], "bfloat16"),
    "norm of long rows": normed([20, 40000], [1]),
    "norm of images": normed([12, 256, 20, 20], [0, 2, 3]),
}


def taps(places, channels, count, dtype="float32"):
    """A sum of shifted slices of places x channels, each times a factor per channel."""
    lines, so_far = [], None
    for k in range(count):
        lines += [f"x{k} = slice(x, starts=[{k}, 0], sizes=[{places}, {channels}], steps=[1, 1])",
                  f"w{k} = slice(w, starts=[{k}, 0], sizes=[1, {channels}], steps=[1, 1])",
                  f"p{k} = multiply(x{k}, w{k})"]
        lines += [f"s{k} = add({so_far}, p{k})"] if so_far else []
        so_far = f"s{k}" if so_far else "p0"
    return f"""kt 1
program "taps"
x: {dtype}[{places + count - 1}, {channels}] = input(name="x")
w: {dtype}[{count}, {channels}] = input(name="w")
{chr(10).join(lines)}
y = tanh({so_far})
output "y" = y
"""


def linear_scan(shape, axis, dtype="float32"):
    """y[t] = a[t] * y[t - 1] + b[t] along an axis."""
    one = [1 if d == axis else n for d, n in enumerate(shape)]
    return f"""kt 1
program "linear_scan"
a: {dtype}{shape} = input(name="a")
b: {dtype}{shape} = input(name="b")
s: {dtype}{one} = input(name="s")
y = linear_scan(a, b, s, axis={axis})
output "y" = y
"""


PATTERNS |= {
    "taps": taps(150, 130, 5),
    "taps of 16 bits": taps(300, 96, 4, "bfloat16"),
    "recurrence": linear_scan([130, 7, 33], 2),
    "recurrence of columns": linear_scan([40, 300], 0, "bfloat16"),
    "recurrence of long rows": linear_scan([70, 30000], 1),
}


def same_program(text, target, tmp_path, *options):
    """The source that is emitted for a program, traced: the same program, and the same bits."""
    print(f"KILN_SEED={SEED}")
    (tmp_path / "program.kt").write_text(text)
    for name in ("program.kiln", "program.py"):
        done = kiln_command("compile", tmp_path / "program.kt", "--target", target, *options, "-o", tmp_path / name)
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


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS.keys())
@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_emitted_source_is_the_same_program(text, target, tmp_path):
    same_program(text, target, tmp_path)


@pytest.mark.parametrize("name", ["rms-norm", "RoPE", "norm, product", "attention", "SwiGLU"])
@pytest.mark.parametrize("target", ["trn1", "trn2", "trn3"])
def test_emitted_source_of_a_search(name, target, tmp_path):
    """DMAs that are started in other ways, instructions in pieces and on other engines. The second of the two commands
    takes what the first one found."""
    few = name == "rms-norm"  # after so many programs there is nothing left to try
    same_program(PATTERNS[name], target, tmp_path, "-O", 3, "--time-limit", 60 if few else 1, "--seed", SEED % 1000,
                 "--cache", tmp_path / "cache")
    assert not few or "dge_mode=" in (tmp_path / "program.kiln").read_text()


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS.keys())
@pytest.mark.parametrize("target", ["trn2", "trn3"])
def test_emitted_source_is_the_same_pair(text, target, tmp_path):
    """Two files for the cores of a pair; one source for both."""
    print(f"KILN_SEED={SEED}")
    (tmp_path / "program.kt").write_text(text)
    for name in ("program.kiln", "program.py"):
        done = kiln_command("compile", tmp_path / "program.kt", "--target", target, "--lnc", 2, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
    files = [tmp_path / f"program.core{i}.kiln" for i in range(2)]
    assert kiln_command("check", *files).returncode == 0
    pair = [_kiln.parse_program(file.read_text(), file.name) for file in files]
    _, kernel = round_trip.load((tmp_path / "program.py").read_text(), tmp_path)
    again = round_trip.trace(kernel, pair)
    assert [round_trip.normal_text(p) for p in again] == [round_trip.normal_text(p) for p in pair]
    first = round_trip.run(pair, round_trip.random_arrays(pair, SEED))
    second = round_trip.run(again, round_trip.random_arrays(again, SEED))
    for one, other in zip(first.values(), second.values(), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_search(tmp_path):
    """-O 3 keeps what it knows, is not slower, and finds the same again."""
    (tmp_path / "mlp.kt").write_text(MLP)
    command = ("compile", tmp_path / "mlp.kt", "-O", 3, "--time-limit", 0.5, "--seed", 4, "--cache", tmp_path / "cache")
    first = kiln_command(*command, "-o", tmp_path / "first.kiln")
    assert first.returncode == 0, first.stderr
    assert {path.suffix for path in (tmp_path / "cache").iterdir()} == {".kilncache", ".kilnsearch"}
    second = kiln_command(*command, "-o", tmp_path / "second.kiln")
    assert second.returncode == 0 and (tmp_path / "first.kiln").read_text() == (tmp_path / "second.kiln").read_text()
    plain = kiln_command("compile", tmp_path / "mlp.kt", "-o", tmp_path / "plain.kiln")
    assert plain.returncode == 0
    times = [
        _kiln.time_programs([_kiln.parse_program((tmp_path / name).read_text(), name)], {}, [], None, False)
        for name in ("first.kiln", "plain.kiln")
    ]
    assert times[0].total_ns <= times[1].total_ns * 1.02  # timed as written here, as emitted there


def test_cache(tmp_path):
    """What is found in the cache is what compiling gives; another program, chip or option is another entry."""
    (tmp_path / "mlp.kt").write_text(MLP)
    command = ("compile", tmp_path / "mlp.kt", "--report", "--cache", tmp_path / "cache")
    first = kiln_command(*command, "-o", tmp_path / "first.kiln")
    entries = list((tmp_path / "cache").iterdir())
    second = kiln_command(*command, "-o", tmp_path / "second.kiln")
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert first.stdout == second.stdout and list((tmp_path / "cache").iterdir()) == entries
    assert (tmp_path / "first.kiln").read_text() == (tmp_path / "second.kiln").read_text()
    assert (tmp_path / "first.const0.npy").read_bytes() == (tmp_path / "second.const0.npy").read_bytes()
    kiln_command("compile", tmp_path / "mlp.kt", "--cache", tmp_path / "cache", "--target", "trn1")
    kiln_command("compile", tmp_path / "mlp.kt", "--cache", tmp_path / "cache", "-O", "1")
    assert len(list((tmp_path / "cache").iterdir())) == 3
    entries[0].write_text("not what was written")
    third = kiln_command(*command, "-o", tmp_path / "third.kiln")
    assert third.returncode == 0 and third.stdout == first.stdout


@pytest.mark.parametrize("words, said", [
    (["-o", "mlp.kt"], "`mlp.kt` would overwrite the input"), (["--cache", "mlp.kt"], "cannot write `mlp.kt`"),
    (["--cache", "/proc/none/here", "-O", 3], "cannot write `/proc/none/here`"),
    (["--donate", "z"], "--donate: there is no input `z`"), (["--donate", "x", "none"], "inputs are x, w, u"),
    (["-O", 3, "--time-limit", -1], "--time-limit: `-1` is no number above zero\n"),
    (["--time-limit", "soon"], "`soon` is no number above zero\n"),
    (["--kernel-ops", 0], "--kernel-ops: `0` is no number above zero\n")])
def test_what_cannot_be_done_is_said(tmp_path, words, said):
    """Before anything is compiled, and nothing is overwritten."""
    (tmp_path / "mlp.kt").write_text(MLP)
    done = kiln_command("compile", "mlp.kt", *words, cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and "bug" not in done.stderr, done.stderr
    assert (tmp_path / "mlp.kt").read_text() == MLP and len(list(tmp_path.iterdir())) == 1


def test_page_has_groups(tmp_path):
    (tmp_path / "softmax.kt").write_text(SOFTMAX)
    done = kiln_command("time", tmp_path / "softmax.kt", "--html", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert "Groups of the tensor program" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert "<h2>Groups of the tensor program</h2>" in page and "max subtract exp sum reciprocal multiply" in page


def test_constants_are_files(tmp_path):
    (tmp_path / "mlp.kt").write_text(MLP)
    done = kiln_command("compile", tmp_path / "mlp.kt", "-o", tmp_path / "mlp.kiln", "--report")
    assert done.returncode == 0, done.stderr
    assert "instructions in 1 groups" in done.stdout
    assert (np.load(tmp_path / "mlp.const0.npy").ravel() == np.arange(160) * 0.25).all()
    assert kiln_command("check", tmp_path / "mlp.kiln").returncode == 0


@pytest.mark.parametrize(
    "text, code, line",
    [
        ('kt 1\nprogram "p"\nx: float32[4] = input(name="x")\ny = foo(x)\n', "tensor.R18", 4),
        ('kt 1\nprogram "p"\nx: float32[4] = input(name="x")\ny = add(x, z)\n', "tensor.R18", 4),
        (
            'kt 1\nprogram "p"\nx: float32[4] = input(name="x")\nb: float32[3] = input(name="b")\ny = add(x, b)\n',
            "tensor.R2",
            5,
        ),
        (
            'kt 1\nprogram "p"\nx: float32[4] = input(name="x")\n\ny = flip(x, axes=[1])\noutput "y" = y\n',
            "tensor.R5",
            5,
        ),
    ],
)
def test_errors_have_the_line(text, code, line, tmp_path):
    path = tmp_path / "program.kt"
    path.write_text(text)
    done = kiln_command("compile", path)
    assert done.returncode in (1, 2) and f"[{code}]" in done.stderr and f"{path}:{line}" in done.stderr


@pytest.mark.parametrize("option", ["--passes", "--print-after", "--time-after"])
def test_unknown_pass(option):
    done = kiln_command("opt", "-", option, "canonicalize,nothing", input=SOFTMAX)
    assert done.returncode == 2 and not done.stdout
    assert f"{option}: there is no pass `nothing`" in done.stderr
    assert "canonicalize, loops-at-once, steps-at-once, running-sums, first-of-sorts, expand" in done.stderr
    done = kiln_command("opt", "-", option, "decompos", input=SOFTMAX)
    assert done.returncode == 2 and "did you mean `decompose`?" in done.stderr


def stage_rows(*options):
    done = kiln_command("opt", "-", "--time-after", *options, input=SOFTMAX)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["after", "ops", "predicted", "us", "processor", "ms"]
    return {line.split()[0]: line.split()[1:] for line in lines[1:]}


def test_time_after(tmp_path):
    """The last stages are what `kiln compile` makes; before them every op goes through HBM, which takes longer."""
    rows = stage_rows("all")
    passes = kiln_command("opt", "-", "--passes", "nothing", input=SOFTMAX).stderr.split("passes are ")[1].split()
    assert list(rows) == [name.rstrip(",") for name in passes if name.rstrip(",") in rows] and len(rows) == 17
    path = tmp_path / "softmax.kt"
    path.write_text(SOFTMAX)
    for stage, level in (("instructions", 1), ("candidates", 2)):
        report = kiln_command("compile", path, "-O", level, "--report").stdout
        assert f"predicted {rows[stage][-2]} us" in report
        after = kiln_command("opt", path, "--print-after", stage).stdout
        assert after == f"# after {stage}\n{kiln_command('compile', path, '-O', level).stdout}\n"
    assert float(rows["recompute"][1]) > 1.5 * float(rows["instructions"][0]) >= float(rows["candidates"][0])
    assert stage_rows("decompose", "--target", "trn1")["decompose"][1] != rows["decompose"][1]


def test_ops_are_listed():
    lines = kiln_command("opt", "--ops").stdout.splitlines()
    table = (SOURCE / "kiln" / "tensor" / "ir" / "ops.def").read_text()
    names = re.findall(r"^KILN_(?:UNARY|BINARY|OP)\((\w+),", table, re.M)
    assert [line.split("(")[0] for line in lines[::2]] == names
    assert "slice(x, starts=ints, sizes=ints, steps=ints)" in lines
    done = kiln_command("opt")
    assert done.returncode == 2 and "needs a FILE" in done.stderr


@pytest.mark.parametrize(
    "line, words",
    [
        ("y = expp(x)", ["`expp` is no op", "did you mean `exp`?", "kiln opt --ops"]),
        ("y = softmax(x)", ["`softmax` is no op", "softmax and norms are written with these"]),
        ("y = sum(x, axis=[0], keepdims=true)", ["no attribute `axis`", "axes, keepdims", "did you mean `axes`?"]),
        ("y = exp(x, axis=0)", ["no attribute `axis`", "allowed: no attributes"]),
        ("y = sum(x, axes=[0])", ["needs the attribute `keepdims`", "sum(x, axes=ints, keepdims=bool)"]),
        ("y = exp(long_nam)", ["`long_nam` is no value yet", "did you mean `long_name`?"]),
        ("y: float64[4] = exp(x)", ["`float64` is no dtype", "did you mean `float32`?", "float32, tfloat32"]),
    ],
)
def test_unknown_names(line, words):
    text = f'kt 1\nprogram "p"\nx: float32[4, 8] = input(name="x")\nlong_name = exp(x)\n{line}\noutput "y" = y\n'
    done = kiln_command("opt", "-", input=text)
    assert done.returncode == 1 and "tensor.R18" in done.stderr
    for word in words:
        assert word in done.stderr
