"""Random programs of floats as text: what models and science are made of, at odd shapes. Steps are smooth, and their
results of moderate size, so that what NumPy makes of float64 tells how far off other results are: as far as NumPy is
in their own dtype, and as they come to be when each operation is off by a rounding. NumPy has few functions of
bfloat16, which acts as its float16 does with eight times the error."""

import ml_dtypes
import numpy as np

from random_programs import _key, _shape

DIMS = (1, 2, 3, 5, 8, 16, 31, 64, 65, 96, 128, 130, 200, 257, 512)
DTYPES = ("float32", "float32", "float32", "bfloat16", "float16")
SIZE = 40_000
SHAKEN = 3
MOST_PRODUCTS = 4_000_000

# On `a`, with an axis x and the extent w along it; b fits a, p shares its last extent, q its first. Behind # stands how
# many products it takes.
STEPS = """
np.tanh({a})
np.exp(-np.abs({a}))
1 / (1 + np.exp(-{a}))
{a} / (1 + np.exp(-{a}))
np.sqrt(np.abs({a}) + 1)
np.log(np.abs({a}) + 1)
np.sin({a}) * np.cos({a})
np.maximum({a}, 0)
np.maximum({a}, 0) ** 2 / (1 + np.abs({a}))
np.where({a} > 0, {a}, 0.1 * {a})
np.clip({a}, -1, 1)
-{a}
np.abs({a}) * {number}
{a} * {number} + {number}
{a} + {b}
{a} - {b}
{a} * {b}
{a} / (np.abs({b}) + 1)
np.maximum({a}, {b})
np.minimum({a}, {b}) + {a}
np.hypot({a}, {b})
{a} + np.broadcast_to({b}, np.broadcast_shapes({a}.shape, {b}.shape))
np.sum({a}, axis={x}) / {w}
np.sum({a}, axis={x}, keepdims=True) / {w}
np.mean({a}, axis={x})
np.mean({a}, axis={x}, keepdims=True) + {a}
np.max({a}, axis={x}, keepdims=True) - {a}
np.min({a}, axis={x})
np.sqrt(np.var({a}, axis={x}) + 0.1)
np.std({a}, axis={x}, keepdims=True) * {a}
np.mean({a})
np.sum({a} * {a}) / {size}
np.log(np.sum(np.exp({a} - np.max({a}, axis={x}, keepdims=True)), axis={x}))
(lambda e: e / e.sum(axis={x}, keepdims=True))(np.exp({a} - {a}.max(axis={x}, keepdims=True)))
(lambda c: c / np.sqrt((c * c).mean(axis={x}, keepdims=True) + 0.01))({a} - {a}.mean(axis={x}, keepdims=True))
{a} / np.sqrt(np.mean({a} * {a}, axis={x}, keepdims=True) + 0.01)
np.cumsum({a}, axis={x}) / {w}
np.diff({a}, axis={x})
{a}.T
{a}.swapaxes(0, -1) + 1
{a}.transpose({order})
{a}.reshape({shape})
{a}.reshape(-1)
{a}[{key}]
{a}[..., ::2] * 2
{a}[..., ::-1]
{a}[..., : {m} // 2] * {a}[..., {m} - {m} // 2:]
np.flip({a}, {x})
np.roll({a}, {shift}, {x})
np.concatenate([{a}[..., {m} // 2:], -{a}[..., : {m} // 2]], axis=-1)
np.concatenate([{a}, {a} * 0.5], axis={x})
np.stack([{a}, {a} + 1], axis={x})
np.repeat({a}, 2, axis={x})
np.pad({a}, 1)
np.expand_dims({a}, {x})
np.tril({a}) if {k} > 1 else {a} + 0.5
np.take({a}, ix % {w}, axis={x})
np.einsum('...i,...i->...', {a}, {a}) / {m}
{a} @ {a}.swapaxes(-1, -2) / {m} if {k} > 1 else np.outer({a}, {a})  # {size} * ({a}.shape[-2] if {k} > 1 else {size})
{a}.swapaxes(-1, -2) @ {a} / {w} if {k} > 1 else {a} @ {a} / {m}  # {size} * {m}
{a} @ {p}.reshape(-1, {m}).T / {m}  # {size} * ({p}.size // {m})
{p}.reshape(-1, {m}) @ {a}.reshape(-1, {m}).T / {m}  # {size} * ({p}.size // {m})
{q}.reshape({n}, -1).T @ {a}.reshape({n}, -1) / {n}  # {size} * ({q}.size // {n})
np.einsum('ij,kj->ik', {a}.reshape(-1, {m}), {p}.reshape(-1, {m})) / {m}  # {size} * ({p}.size // {m})
{a}.reshape({n}, -1) + {q}.reshape({n}, -1).mean(axis=-1, keepdims=True)
""".strip().splitlines()


_EXACT = (np.negative, np.absolute, np.maximum, np.minimum)


def _shaken_arrays(random, rounding):
    """A class of arrays on which each ufunc is off by a rounding of its result, or of all that it sums up: by more
    where many terms of float32 follow each other, as 16 bits are summed up in float32."""
    is_wide = rounding < 1e-6

    def off(x, terms=1.0):
        grown = max(1.0, terms**0.5 / 4) if is_wide else 1.0
        part = random.uniform(-1, 1, np.shape(x))  # of different sizes, so that two of them leave something
        return x * (part + np.sign(part)) * (grown * rounding / 2)

    class Shaken(np.ndarray):
        def __array_function__(self, function, types, args, kwargs):
            if function is not np.einsum:
                return super().__array_function__(function, types, args, kwargs)
            form, *factors = map(_plain, args)
            return np.einsum(form, *factors) + off(np.einsum(form, *map(np.abs, factors)), _longest(factors))

        def __array_ufunc__(self, ufunc, method, *inputs, out=(), **kwargs):
            inputs, run = [*map(_plain, inputs)], getattr(ufunc, method)
            made, sums_up = run(*inputs, **kwargs), ufunc is np.matmul or (ufunc is np.add and method != "__call__")
            if made.dtype.kind == "f" and ufunc not in _EXACT:
                terms = np.size(inputs[0]) / np.size(made) if method == "reduce" else _longest(inputs)
                made = made + (off(run(*map(np.abs, inputs), **kwargs), terms) if sums_up else off(made))
            if out:
                np.copyto(_plain(out[0]), made)
                return out[0]
            return made.view(Shaken) if isinstance(made, np.ndarray) else made

    return Shaken


def _longest(arrays):
    return max(max(np.shape(x), default=1) for x in arrays)


def _plain(x):
    return x.view(np.ndarray) if isinstance(x, np.ndarray) else x


class Program:
    """A program for a seed: `source`, `arguments`, and what NumPy says of its results."""

    def __init__(self, random, size=SIZE):
        self.random, self.size, self.lines, self.count = random, size, [], 0
        self.dtype = np.dtype(ml_dtypes.bfloat16 if (d := str(random.choice(DTYPES))) == "bfloat16" else d)
        self.own = np.dtype(np.float32 if self.dtype == np.float32 else np.float16)  # what NumPy computes in by itself
        self.rounding = float(ml_dtypes.finfo(self.dtype).eps)
        self.least = float(ml_dtypes.finfo(self.dtype).smallest_subnormal)
        dims = [int(n) for n in random.choice(DIMS, 3)]
        self.arguments = {f"x{i}": self._argument(dims) for i in range(random.integers(1, 5))}
        self.arguments["ix"] = random.integers(-3, 3, int(random.integers(3, 9))).astype(np.int32)
        self.exact, self.rounded = self._names(np.float64), self._names(self.own)
        self.shaken_class = _shaken_arrays(random, self.rounding)
        self.shaken = [{k: self._shaken(x) for k, x in self.exact.items()} for _ in range(SHAKEN)]
        goal = int(random.integers(3, 12))
        for _ in range(40):
            if self.count < goal:
                self._step()
        made = [name for name in self.exact if name.startswith("y")]
        self.results = list(dict.fromkeys(made[-2:] + [str(random.choice(made))] if made else ["x0"]))
        self.source = "\n    ".join([f"def f({', '.join(self.arguments)}):", *self.lines,
                                     f"return {', '.join(self.results)},"]) + "\n"

    def function(self):
        names = {"np": np}
        exec(compile(self.source, "a random program", "exec"), names)
        return names["f"]

    def expected(self):
        """(dtype, elements, how far from them NumPy is, how far shaken operations are) of each result."""
        for name in self.results:
            exact, rounded = self.exact[name], self.rounded[name]
            made = [rounded, *(names[name] for names in self.shaken)]
            off = [np.abs(_plain(y).astype(np.float64) - exact).max() for y in made]
            own = off[0] * self.rounding / float(np.finfo(self.own).eps)
            yield self.dtype if rounded.dtype == self.own else rounded.dtype, exact, own, max(off[1:])

    def _names(self, dtype):
        return {"np": np, **{name: x.astype(dtype) if name != "ix" else x for name, x in self.arguments.items()}}

    def _shaken(self, x):
        return x.view(self.shaken_class) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x

    def _argument(self, dims):
        shape = [int(self.random.choice(dims)) for _ in range(self.random.integers(1, 5))]
        while np.prod(shape) > self.size:
            shape.pop()
        return self.random.standard_normal(shape).astype(self.dtype)

    def _step(self):
        arrays = [k for k, x in self.exact.items() if isinstance(x, np.ndarray) and k != "ix" and x.ndim and x.size]
        weights = np.arange(1, len(arrays) + 1)
        name = str(self.random.choice(arrays, p=weights / weights.sum()))
        line, _, products = str(self.random.choice(STEPS)).format(**self._words(name, arrays)).partition("  # ")
        if products and eval(products, self.exact) > MOST_PRODUCTS:
            return
        try:
            exact, rounded, *shaken = (eval(line, names) for names in (self.exact, self.rounded, *self.shaken))
        except (ValueError, TypeError, IndexError):
            return  # NumPy has no such call
        is_moderate = np.all(np.isfinite(rounded)) and np.all(np.abs(exact) < 1e3)
        if np.size(exact) == 0 or np.size(exact) > 2 * self.size or not is_moderate:
            return
        made = f"y{self.count}"
        self.lines.append(f"{made} = {line}")
        self.exact[made], self.rounded[made] = exact, rounded
        for names, y in zip(self.shaken, shaken):
            names[made] = self._shaken(y)
        self.count += 1

    def _words(self, name, arrays):
        random, x = self.random, self.exact[name]
        axis = int(random.integers(-x.ndim, x.ndim))

        def pick(fits):
            return str(random.choice([y for y in arrays if fits(self.exact[y])]))

        return {
            "a": name, "b": pick(lambda y: self._fits(x, y)), "p": pick(lambda y: y.shape[-1] == x.shape[-1]),
            "q": pick(lambda y: y.shape[0] == x.shape[0]), "n": x.shape[0], "m": x.shape[-1], "k": x.ndim, "x": axis,
            "w": x.shape[axis], "size": x.size, "number": round(float(random.uniform(0.1, 1.5)), 3),
            "shift": int(random.integers(-5, 6)), "order": tuple(int(i) for i in random.permutation(x.ndim)),
            "shape": _shape(random, x.size), "key": _key(random, x.shape),
        }

    def _fits(self, x, y):
        try:
            return np.prod(np.broadcast_shapes(x.shape, y.shape)) <= 2 * self.size
        except ValueError:
            return False
