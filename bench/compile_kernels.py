"""Compiled tensor programs beside kernels that were written by hand, both timed by the same model: those of
examples/nki, and with --sources the published ones of plain/rows.csv. Prints a table, the slowest comparison first."""

import argparse
import csv
import importlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE / "plain"), str(HERE)]
EACH_LIMIT, MEAN_LIMIT = 1.1, 1.0


def program(*lines, **outputs):
    """The text of a tensor program."""
    text = ["kt 1", 'program "compared"', *lines]
    return "\n".join(text + [f'output "{name}" = {value}' for name, value in outputs.items()]) + "\n"


def given(**types):
    return [f"{name}: {type} = input(name=\"{name}\")" for name, type in types.items()]


SOFTMAX = ["m = max(s, axes=[{axis}], keepdims=true)", "d = subtract(s, m)", "e = exp(d)",
           "t = sum(e, axes=[{axis}], keepdims=true)", "p = divide(e, t)"]
RMS = ["sq = square(x)", "ms = mean(sq, axes=[1], keepdims=true)", "me = add(ms, 1e-06)", "r = rsqrt(me)",
       "n = multiply(x, r)"]


def softmax_of(axis):
    return [line.format(axis=axis) for line in SOFTMAX]


def product(left, right, turned="", dtype="float32"):
    """left @ right, where `turned` names the sides that lie transposed in HBM."""
    shapes = {"a": list(left), "b": list(right)}
    lines = given(**{n: f"{dtype}{s[::-1] if n in turned else s}" for n, s in shapes.items()})
    lines += [f"{n}_ = transpose({n}, perm=[1, 0])" for n in turned]
    names = [n + "_" if n in turned else n for n in shapes]
    return program(*lines, f"c = matmul({names[0]}, {names[1]})", out="c")


def softmax(rows, columns):
    return program(*given(s=f"float32[{rows}, {columns}]"), *softmax_of(1), out="p")


def rms_norm(rows, columns, quantize=False):
    lines = [*given(x=f"float32[{rows}, {columns}]", w=f"float32[{columns}]"), *RMS, "y = multiply(n, w)"]
    if not quantize:
        return program(*lines, out="y")
    lines += ["a = abs(y)", "big = max(a, axes=[1], keepdims=true)", "s0 = multiply(big, 0.004166666666666667)",
              "scale = maximum(s0, 1e-30)", "z = divide(y, scale)", "lo = minimum(z, 240.0)", "c = maximum(lo, -240.0)",
              "q = cast(c, dtype=float8_e4m3)"]
    return program(*lines, out="q", scales="scale")


def layer_norm(rows, columns):
    return program(*given(x=f"float32[{rows}, {columns}]", w=f"float32[{columns}]", b=f"float32[{columns}]"),
                   "u = mean(x, axes=[1], keepdims=true)", "c = subtract(x, u)", "sq = square(c)",
                   "v = mean(sq, axes=[1], keepdims=true)", "ve = add(v, 1e-05)", "r = rsqrt(ve)", "n = multiply(c, r)",
                   "g = multiply(n, w)", "y = add(g, b)", out="y")


def rope(positions, heads, depth):
    half, zeros, ones = depth // 2, [0, 0, 0], [1, 1, 1]
    cut = "{} = slice(x, starts={}, sizes=" + str([positions, heads, half]) + f", steps={ones})"
    return program(*given(x=f"float32[{positions}, {heads}, {depth}]", c=f"float32[{positions}, 1, {half}]",
                          s=f"float32[{positions}, 1, {half}]"),
                   cut.format("x0", zeros), cut.format("x1", [0, 0, half]),
                   "a = multiply(x0, c)", "b = multiply(x1, s)", "y0 = subtract(a, b)", "d = multiply(x1, c)",
                   "e = multiply(x0, s)", "y1 = add(d, e)", "y = concat(y0, y1, axis=2)", out="y")


def rope_columns(depth, positions):
    half = depth // 2
    cut = "{} = slice(x, starts={}, sizes=" + str([half, positions]) + ", steps=[1, 1])"
    return program(*given(x=f"float32[{depth}, {positions}]", c=f"float32[{half}, {positions}]",
                          s=f"float32[{half}, {positions}]"), cut.format("x0", [0, 0]), cut.format("x1", [half, 0]),
                   "a = multiply(x0, c)", "b = multiply(x1, s)", "y0 = subtract(a, b)", "d = multiply(x1, c)",
                   "e = multiply(x0, s)", "y1 = add(d, e)", "y = concat(y0, y1, axis=0)", out="y")


def transpose(rows, columns):
    return program(*given(x=f"float32[{rows}, {columns}]"), "y = transpose(x, perm=[1, 0])", out="y")


def cumsum(rows, columns):
    return program(*given(x=f"float32[{rows}, {columns}]"), "y = cumsum(x, axis=1)", out="y")


def attention(heads, length, depth, dtype, causal=False, columns=False, log_sums=False):
    """`columns`: one head whose q, k and v lie with the depth in front."""
    if columns:
        shape = f"{dtype}[{depth}, {length}]"
        lines = given(q0=shape, k0=shape, v0=shape)
        lines += [f"{n} = transpose({n}0, perm=[1, 0])" for n in "qv"]
        lines += [f"kt = reshape(k0, shape=[{depth}, {length}])"]
    else:
        shape = f"{dtype}[{heads}, {length}, {depth}]"
        lines = given(q=shape, k=shape, v=shape) + ["kt = transpose(k, perm=[0, 2, 1])"]
    lines += ["s0 = matmul(q, kt)", f"s = multiply(s0, {depth ** -0.5})"]
    if causal:
        ramp = f"int32[{length}, {length}]"
        lines += [f"i: {ramp} = iota(axis=0)", f"j: {ramp} = iota(axis=1)", "seen = less_equal(j, i)",
                  "masked = where(seen, s, -30000.0)"]
    axis = 1 if columns else 2
    lines += [line.replace("(s,", "(masked,") if causal else line for line in softmax_of(axis)] + ["o = matmul(p, v)"]
    if log_sums:
        return program(*lines, "tf = cast(t, dtype=float32)", "lt = log(tf)", "mf = cast(m, dtype=float32)",
                       "ls = add(lt, mf)", out="o", log_sums="ls")
    return program(*lines, out="o")


def normed_product(rows, inner, columns, gain=False, added=False):
    lines = given(**({"x0": f"float32[{rows}, {inner}]", "z": f"float32[{rows}, {inner}]"} if added else
                     {"x": f"float32[{rows}, {inner}]"}), w=f"float32[{inner}, {columns}]")
    lines += ["x = add(x0, z)"] if added else []
    lines += given(g=f"float32[{inner}]") if gain else []
    return program(*lines, *RMS, *(["h = multiply(n, g)"] if gain else []),
                   f"y = matmul({'h' if gain else 'n'}, w)", out="y")


def product_normed(rows, inner, columns):
    return program(*given(a=f"float32[{rows}, {inner}]", w=f"float32[{inner}, {columns}]",
                          z=f"float32[{rows}, {columns}]", g=f"float32[{columns}]"), "c = matmul(a, w)",
                   "x = add(c, z)", *RMS, "y = multiply(n, g)", out="y")


def batched(batch, rows, inner, columns, with_softmax=False):
    lines = given(a=f"float32[{batch}, {rows}, {inner}]", b=f"float32[{batch}, {inner}, {columns}]")
    lines.append("s = matmul(a, b)")
    return program(*lines, *softmax_of(2), out="p") if with_softmax else program(*lines, out="s")


def mlp(rows, inner, columns, dtype):
    return program(*given(a=f"{dtype}[{inner}, {rows}]", w=f"{dtype}[{inner}, {columns}]", b=f"{dtype}[1, {columns}]"),
                   "x = transpose(a, perm=[1, 0])", "c = matmul(x, w)", "h = add(c, b)", "y = gelu(h)", out="y")


def swiglu(rows, inner, hidden):
    return program(*given(x=f"float32[{rows}, {inner}]", w1=f"float32[{inner}, {hidden}]",
                          w2=f"float32[{inner}, {hidden}]", w3=f"float32[{hidden}, {inner}]"), "a = matmul(x, w1)",
                   "g = silu(a)", "b = matmul(x, w2)", "h = multiply(g, b)", "y = matmul(h, w3)", out="y")


# Kernels of examples/nki: what is compared, the tensor program, kernel, arguments.
EXAMPLES = [
    ("matmul (1024,1024)@(1024,2048)", product((1024, 1024), (1024, 2048), "a"), ["matmul.blocked", "matmul.hoisted"],
     ["float32[1024,1024]", "float32[1024,2048]"]),
    ("matmul 2048 cubed bf16", product((2048, 2048), (2048, 2048), "a", "bfloat16"),
     ["matmul.blocked", "matmul.hoisted"], ["bfloat16[2048,2048]", "bfloat16[2048,2048]"]),
    ("softmax (2048,4096)", softmax(2048, 4096), ["softmax.softmax"], ["float32[2048,4096]"]),
    ("softmax (300,1000)", softmax(300, 1000), ["softmax.softmax"], ["float32[300,1000]"]),
    ("rms-norm (2048,4096)", rms_norm(2048, 4096), ["rms_norm.rms_norm"], ["float32[2048,4096]", "float32[4096]"]),
    ("rms-norm (300,1000)", rms_norm(300, 1000), ["rms_norm.rms_norm"], ["float32[300,1000]", "float32[1000]"]),
    ("rms-norm, quantise (2048,4096)", rms_norm(2048, 4096, True), ["rms_norm_quantize.rms_norm_quantize"],
     ["float32[2048,4096]", "float32[4096]"]),
    ("RoPE (2048,8,128)", rope(2048, 8, 128), ["rope.rope"],
     ["float32[2048,8,128]", "float32[2048,64]", "float32[2048,64]"]),
    ("transpose (2048,2048)", transpose(2048, 2048), ["transpose.transpose"], ["float32[2048,2048]"]),
    ("cumsum (2048,4096)", cumsum(2048, 4096), ["cumsum.cumsum"], ["float32[2048,4096]"]),
    ("attention 4 x 2048 x 128 bf16", attention(4, 2048, 128, "bfloat16", log_sums=True), ["attention.attention"],
     ["bfloat16[4,2048,128]"] * 3),
    ("attention 2 x 1024 x 64", attention(2, 1024, 64, "float32", log_sums=True), ["attention.attention"],
     ["float32[2,1024,64]"] * 3),
]

# Published kernels: what is compared, the tensor program, rows of plain/rows.csv of which the best counts. Those that
# take a float32 product apart into bfloat16 ones are left out: they round where the program does not.
PUBLISHED = [
    ("matmul 2048 cubed bf16, lhsT", product((2048, 2048), (2048, 2048), "a", "bfloat16"),
     ["GYM-hand9092", "GYM-d2-58"]),
    ("matmul 2048 cubed bf16, rhsT", product((2048, 2048), (2048, 2048), "b", "bfloat16"), ["GYM-d2-61"]),
    ("matmul 2048 cubed bf16, both", product((2048, 2048), (2048, 2048), "ab", "bfloat16"), ["GYM-d2-60b"]),
    ("matmul (4096,8192)@(8192,8192)", product((4096, 8192), (8192, 8192), "a"), ["DOC-MM2-v3", "DOC-MM2-v4"]),
    ("transpose (1024,1024)", transpose(1024, 1024), ["CS2-tr1024c", "CS2-tr1024"]),
    ("attention 4096 x 128 bf16", attention(1, 4096, 128, "bfloat16", columns=True), ["ACMP-attn-0", "ACMP-attn-9"]),
    ("rms-norm, matmul", normed_product(4096, 1024, 2048),
     ["KDA-rmsnorm_matmul_v1", "KDA-rmsnorm_matmul_v2_postscale"]),
    ("add, rms-norm, matmul", normed_product(4096, 1024, 2048, True, True),
     ["NKIB1-add_rmsnorm_matmul", "KDA-add_rmsnorm_matmul_v1", "KDA-add_rmsnorm_matmul_v2_postscale"]),
    ("matmul, add, rms-norm", product_normed(4096, 2048, 2048),
     ["NKIB1-matmul_add_rmsnorm", "KDA-matmul_add_rmsnorm_v1"]),
    ("bmm 16 x (4096,64)@(64,4096)", batched(16, 4096, 64, 4096), ["NKIB1-bmm"]),
    ("bmm, softmax", batched(16, 4096, 64, 4096, True), ["KDA-bmm_softmax_v2", "KDA-bmm_softmax_v4"]),
    ("RoPE (128,262144)", rope_columns(128, 262144), ["KDA-rope_v1", "KDA-rope_v3_layoutB_pe",
                                                      "KDA-rope_v2_layoutB_scalar_w512"]),
    ("matmul (4096,2048)@(2048,10944), lhsT", product((4096, 2048), (2048, 10944), "a"),
     ["NKIB1-transpose_matmul"]),
    ("SwiGLU 4096, 1024, 3072", swiglu(4096, 1024, 3072), ["NKIB1-swiglu"]),
    ("MLP 512x1024x2048 bf16", mlp(512, 1024, 2048, "bfloat16"), ["FUS-MLP-fused_taylor-bf16-512x1024x2048"]),
    ("MLP 1024x2048x4096 bf16", mlp(1024, 2048, 4096, "bfloat16"), ["FUS-MLP-fused_pwl-bf16-1024x2048x4096"]),
]


def compiled_us(build, text, options, folder, target="trn2"):
    """Predicted microseconds of the compiled program."""
    kt, out = folder / "compared.kt", folder / "compared.kiln"
    kt.write_text(text)
    kiln = build / "cli" / "kiln"
    for command in ([kiln, "compile", kt, "--target", target, "-o", out],
                    [kiln, "time", out, "--json", "--no-advice", *options]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{done.stdout}{done.stderr}"[:500])
    return json.loads(done.stdout)["reports"][0]["total_ns"] / 1000


def example_us(build, names, arguments):
    """Predicted microseconds of the best of some kernels of examples/nki."""
    for folder in (build / "python", ROOT / "examples" / "nki"):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "trn2"
    import kiln

    kiln.activate()
    best = math.inf
    for name in names:
        module, function = name.split(".")
        kernel = getattr(importlib.import_module(module), function)
        best = min(best, kiln.time(kernel, advice=False)(*arguments).as_dict()["total_ns"] / 1000)
    return best


def published_us(build, sources, ids):
    """(microseconds, options of kiln time) of the best of some published kernels that can be timed."""
    import column

    with open(HERE / "timing_rows.csv", newline="") as file:
        rows = [r for r in column.source_rows(list(csv.DictReader(file))) if r["id"] in ids]
    replies = column.answers(sources, build, rows, {})
    times = []
    for row in rows:
        reply = replies[row["id"]]
        if "problem" not in reply:
            times.append((sum(p["total_ns"] for p in reply["parts"]) / 1000, row["flags"].split(), row["target"]))
    return min(times) if times else None


def main():
    parser = argparse.ArgumentParser(prog="bench/compile --kernels", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--sources", default=os.environ.get("KILN_SOURCES"), metavar="FOLDER",
                        help="fetched repositories (default: KILN_SOURCES): published kernels too")
    parser.add_argument("--only", default="", help="part of a name")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here")
    chosen = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for what, text, kernels, arguments in EXAMPLES:
            if chosen.only in what:
                ours = compiled_us(chosen.build, text, [], folder)
                rows.append((what, "examples/nki", ours, example_us(chosen.build, kernels, arguments)))
        for what, text, ids in PUBLISHED if chosen.sources else []:
            theirs = published_us(chosen.build, chosen.sources, ids) if chosen.only in what else None
            if theirs:
                ours = compiled_us(chosen.build, text, theirs[1], folder, theirs[2])
                rows.append((what, "published", ours, theirs[0]))
    rows.sort(key=lambda r: -r[2] / r[3])
    print(f"{'program':40} {'by hand':14} {'compiled us':>12} {'by hand us':>11} {'ratio':>6}")
    for what, origin, ours, theirs in rows:
        print(f"{what:40} {origin:14} {ours:12.1f} {theirs:11.1f} {ours / theirs:6.2f}")
    mean = math.exp(sum(math.log(r[2] / r[3]) for r in rows) / max(1, len(rows)))
    print(f"geometric mean {mean:.2f} (at most {MEAN_LIMIT}), each at most {EACH_LIMIT}")
    if chosen.json:
        figures = [{"program": w, "origin": o, "compiled_us": c, "by_hand_us": h} for w, o, c, h in rows]
        chosen.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
