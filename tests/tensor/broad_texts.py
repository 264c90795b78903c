"""Tensor programs of ops that count, move, index, order, slide and loop, as text."""


def _text(name, *lines):
    return "\n".join(["kt 1", f'program "{name}"', *lines]) + "\n"


X = 'x: float32[50, 70] = input(name="x")'
N = 'x: int32[50, 70] = input(name="x")'
BROAD = {
    "integers": _text("integers", N, 'y: int32[50, 70] = input(name="y")', "p = multiply(x, y)",
                      "q = bitwise_xor(p, y)", "s = cumsum(q, axis=1)", "r = right_shift(s, y)", 'output "r" = r'),
    "integer quotients": _text("quotients", N, 'y: int32[50, 70] = input(name="y")', "m = maximum(y, 1)",
                               "q = floor_divide(x, m)", "r = remainder(x, m)", 'output "q" = q', 'output "r" = r'),
    "borders": _text("borders", X, 'p = pad_with(x, low=[1, 2], high=[2, 0], mode="reflect")', "f = flip(p, axes=[1])",
                     "r = roll(f, shifts=[3], axes=[0])", 'output "r" = r'),
    "repetitions": _text("repetitions", X, "t = tile(x, counts=[2, 1])", "r = repeat(t, counts=[2], axis=1)",
                         'output "r" = r'),
    "indexing": _text("indexing", X, 'i: int32[9] = input(name="i")', 'r = take(x, i, axis=0, mode="wrap")',
                      'j: int32[9, 4] = input(name="j")', "t = take_along_axis(r, j, axis=1)", 'output "t" = t'),
    "writes by index": _text("writes", X, 'i: int32[3] = input(name="i")', 'u: float32[3, 70] = input(name="u")',
                             's = scatter(x, i, u, axis=0, mode="add")', 'output "s" = s'),
    "sums by index": _text("sums", X, 'i: int32[40] = input(name="i")', 'u: float32[40, 70] = input(name="u")',
                           's = scatter(x, i, u, axis=0, mode="add")', 'output "s" = s'),
    "channels": _text("channels", 'x: float32[6, 24, 7, 5] = input(name="x")',
                      "m = mean(x, axes=[0, 2, 3], keepdims=true)", "c = subtract(x, m)", "q = square(c)",
                      "v = mean(q, axes=[0, 2, 3], keepdims=true)", "r = rsqrt(v)", "y = multiply(c, r)",
                      'output "y" = y'),
    "taps beside each other": _text("taps", 'x: bfloat16[2, 64, 30, 31] = input(name="x")',
                                    'w: bfloat16[20, 64, 3, 3] = input(name="w")',
                                    "c = conv(x, w, strides=[1, 1], low=[1, 1], high=[1, 1], dilation=[1, 1], "
                                    "spread=[1, 1], groups=1)", 'output "c" = c'),
    "order": _text("order", X, "s = sort(x, axis=1, descending=true)",
                   "k = top_k_indices(x, axis=1, k=5, largest=true)",
                   "m = cummax(x, axis=0)", 'output "s" = s', 'output "k" = k', 'output "m" = m'),
    "convolution": _text("convolution", 'x: float32[2, 5, 40] = input(name="x")',
                         'w: float32[7, 5, 3] = input(name="w")',
                         "c = conv(x, w, strides=[1], low=[1], high=[1], dilation=[1], spread=[1], groups=1)",
                         'output "c" = c'),
    "pool": _text("pool", 'x: float32[2, 5, 40] = input(name="x")',
                  'p = pool(x, window=[3], strides=[2], low=[0], high=[0], dilation=[1], mode="max")',
                  'output "p" = p'),
    "loop": _text("loop", 'x: float32[64, 32] = input(name="x")', 'w: float32[32, 32] = input(name="w")',
                  "y = for_loop(x, w, count=4, carried=1) {", '  i: int32[] = input(name="i")',
                  '  s: float32[64, 32] = input(name="s")', '  w: float32[32, 32] = input(name="w")',
                  "  p = matmul(s, w)", "  t = tanh(p)", '  output "next" = t', "}", 'output "y" = y'),
    "loop that adds": _text("adds", 'x: float32[1, 192] = input(name="x")', 'w: float32[192, 100] = input(name="w")',
                            'z: float32[1, 100] = constant(numbers=[0.0])',
                            "y = for_loop(z, x, w, count=4, carried=1) {", '  i: int32[] = input(name="i")',
                            '  s: float32[1, 100] = input(name="s")', '  x: float32[1, 192] = input(name="x")',
                            '  w: float32[192, 100] = input(name="w")', "  p = matmul(x, w)", "  t = add(s, p)",
                            '  output "next" = t', "}", 'output "y" = y'),
    "random numbers": _text("random", 'k: uint32[2] = input(name="k")', "r = random_uniform(k, shape=[30, 70])",
                            'output "r" = r'),
}
