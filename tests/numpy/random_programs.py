"""Random programs as text: views that are written to, indices and masks of the run, loops and branches, `out=` and
`where=`, arguments of any strides. Elements are small integers, so that NumPy's results are exact."""

import copy
import types

import numpy as np

DIMS = (1, 2, 3, 4, 5, 7, 8, 12, 16, 33, 64, 130)
DTYPES = ("float32", "float32", "int32", "int32", "int8", "uint8", "int16", "uint16", "bool")


def _new(state):
    """State of a loop or branch: arrays of its own, in C order."""
    return tuple(map(_new, state)) if isinstance(state, tuple) else np.array(state, order="C")[()]


def _fori_loop(first, last, body, carry):
    carry = _new(carry)
    for i in range(int(first), int(last)):
        carry = _new(body(i, carry))
    return carry


def _while_loop(condition, body, carry):
    carry = _new(carry)
    while condition(carry):
        carry = _new(body(carry))
    return carry


def _scan(body, carry, xs):
    carry, ys = _new(carry), []
    for x in xs:
        carry, y = _new(body(carry, x))
        ys.append(y)
    return carry, np.stack(ys)


def _cond(condition, then, otherwise, *operands):
    return _new((then if condition else otherwise)(*_new(operands)))


PLAIN = types.SimpleNamespace(fori_loop=_fori_loop, while_loop=_while_loop, scan=_scan, cond=_cond)

# Statements and expressions on `a`, with n its first extent, m its last, k its rank, x an axis. The first word says
# what `a` must be: any, number, wide (float32 or int32), matrix (a number of two dimensions or more), written (a number
# that may be written to).
STEPS = """
any {a}[{key}]
any {a}[{key}]
any {a}.transpose({order})
any {a}.reshape({shape})
any np.flip({a}, {x})
any np.roll({a}, {small}, {x})
any np.concatenate([{a}, {a}[::-1]], axis={x})
any np.repeat({a}, 2, axis={x})
any np.argsort({a}, axis={x}, kind='stable')
any np.sort({a}, axis={x})
any {a}.astype(np.{dtype})
number np.clip({a} + {b}, -60, 60)
number np.clip({a} * {b}, -60, 60)
number np.where({a} > {b}, {a}, {b})
number {a} % 7 // 2
number np.sum({a}, axis={x}) % 64
number np.max({a}, axis={x}, keepdims=True)
number np.argmin({a}, axis={x})
number np.cumsum({a}, axis={x}) % 64
number np.take_along_axis({a}, np.argsort({a}, axis={x}, kind='stable'), axis={x})
number {a}[ix % {n}]
number {a}[..., ix % {m}]
number {a}[t % {n}]
number {a}[{a} > 1].sum() % 64
matrix {a}[ix % {n}, ix % {second}]
matrix {a}[..., t % {m}]
matrix {a}.T.reshape(-1)
wide ({a} @ {a}.swapaxes(-1, -2)) % 64 if {k} > 1 and {a}.size < 9000 else {a} * 1
wide kiln.fori_loop(0, {count}, lambda i, s: (s * 2 + {a}[(i + t) % {n}]) % 31, {a})
wide kiln.cond({a}.max() > {small}, lambda s: (s + 1) % 50, lambda s: s[::-1] * 1, {a})
wide kiln.while_loop(lambda s: s[0] < t + 2, lambda s: (s[0] + 1, (s[1] + {a}) % 29), (t * 0, {a}))[1]
wide kiln.scan(lambda s, x: ((s + x) % 37, s.max()), {a}[0] * 0, {a}[:9])[0]
written = {a}[{key}] = {digit}
written = {a}[{key}] += 1
written = {a}[{key}] *= 2
written = {a}[t % {n}] += 1
written = {a}[ix % {n}] = {digit}
written = {a}[{a} > {digit}] = {digit}
written = {a}[{a} < 3] += 2
written = np.put_along_axis({a}, np.expand_dims(np.argmax({a}, axis={x}), {x}), 7, axis={x})
written = np.add.at({a}, ix % {n}, {digit})
written = np.maximum.at({a}, ix % {n}, {digit})
written = np.multiply({a}, 2, out={a}, where={a} > 3)
written = np.add({a}, {same}, out={a})
written = {a}[1:] = {a}[:-1]
written = {a}[np.argsort({a}.reshape({n}, -1)[:, 0], kind='stable')] = {a}.copy()
""".strip().splitlines()


class Program:
    """A program for a seed: `source`, `arguments`, and what NumPy says of them."""

    def __init__(self, random):
        self.random, self.lines, self.count = random, [], 0
        dims = [int(n) for n in random.choice(DIMS, 3)]
        self.arguments = {f"x{i}": self._argument(dims) for i in range(random.integers(1, 4))}
        self.arguments["ix"] = random.integers(-3, 3, int(random.integers(3, 9))).astype(np.int32)
        self.arguments["t"] = np.int32(random.integers(0, 3))
        self.names = {"np": np, "kiln": PLAIN, **self.copied()}
        for _ in range(40):
            if self.count + len(self.lines) // 2 >= random.integers(4, 14):
                break
            self._step()
        made = [name for name in self.names if name.startswith("y")][-3:] + [str(random.choice(list(self.arguments)))]
        parameters = ", ".join(self.arguments)
        self.source = "\n    ".join([f"def f({parameters}):", *self.lines, f"return {', '.join(made)},"]) + "\n"

    def copied(self):
        return {name: np.copy(x, order="K") if isinstance(x, np.ndarray) else x for name, x in self.arguments.items()}

    def function(self, kiln):
        names = {"np": np, "kiln": kiln}
        exec(compile(self.source, "a random program", "exec"), names)
        return names["f"]

    def _argument(self, dims):
        random = self.random
        shape = tuple(int(random.choice(dims)) for _ in range(random.integers(1, 4)))
        while np.prod(shape) > 6000:
            shape = shape[:-1]
        dtype = str(random.choice(DTYPES))
        x = random.integers(0 if dtype[0] in "ub" else -8, 2 if dtype == "bool" else 8, shape).astype(dtype)
        order = random.integers(4)
        return np.asfortranarray(x) if order == 0 else x[::-1] if order == 1 else x

    def _pick(self, kind):
        random = self.random
        found = [name for name, x in self.names.items() if name not in ("ix", "t") and _is(kind, x)]
        weights = np.arange(1, len(found) + 1)
        return str(random.choice(found, p=weights / weights.sum())) if found else None

    def _step(self):
        kind, form = str(self.random.choice(STEPS)).split(" ", 1)
        name = self._pick(kind)
        if name is None:
            return
        is_statement = form.startswith("= ")
        line = (form[2:] if is_statement else f"y{self.count} = {form}").format(**self._words(name))
        more = [f"{name} %= 61"] if is_statement else [
            f"y{self.count} = y{self.count}.reshape(-1)[:100]"] if self._size_after(line) > 9000 else []
        try:
            for each in (line, *more):
                exec(each, self.names)
                self.lines.append(each)
        except (ValueError, TypeError, IndexError):
            return  # NumPy has no such call
        if not is_statement:
            self.count += 1

    def _size_after(self, line):
        trial = {**self.names, **{k: copy.deepcopy(v) for k, v in self.names.items() if isinstance(v, np.ndarray)}}
        try:
            exec(line, trial)
        except (ValueError, TypeError, IndexError):
            return 0
        return np.size(trial.get(f"y{self.count}", 0))

    def _words(self, name):
        random, x = self.random, self.names[name]
        beside = [other for other, y in self.names.items() if _is("number", y) and _fits(x, y)]
        same = [other for other in beside if self.names[other].shape == x.shape and self.names[other].dtype == x.dtype]
        return {
            "a": name, "b": str(random.choice(beside or [name])), "same": str(random.choice(same or [name])),
            "n": x.shape[0], "m": x.shape[-1], "second": x.shape[min(1, x.ndim - 1)], "k": x.ndim,
            "x": int(random.integers(-x.ndim, x.ndim)), "small": int(random.integers(-5, 6)),
            "digit": int(random.integers(1, 9)), "count": int(random.integers(2, 6)),
            "order": tuple(int(i) for i in random.permutation(x.ndim)), "shape": _shape(random, x.size),
            "key": _key(random, x.shape),
            "dtype": str(random.choice(["float32", "int32", "int8", "uint8", "int16", "bool"])),
        }


def _is(kind, x):
    if not isinstance(x, np.ndarray) or not x.ndim or not x.size:
        return False
    if kind == "any":
        return True
    return x.dtype.kind != "b" and {"number": True, "wide": x.dtype in (np.float32, np.int32), "matrix": x.ndim > 1,
                                    "written": x.flags.writeable}[kind]


def _fits(x, y):
    """Whether they broadcast to not too much, and NumPy computes in no more than 32 bits."""
    try:
        small = np.prod(np.broadcast_shapes(x.shape, y.shape)) < 9000
    except ValueError:
        return False
    return small and np.result_type(x, y).itemsize < 8


def _shape(random, size):
    shape, factor = [1] * int(random.integers(1, 5)), 2
    while size > 1:
        if size % factor:
            factor += 1
            continue
        shape[random.integers(len(shape))] *= factor
        size //= factor
    return tuple(shape)


def _key(random, shape):
    parts, many = [], int(random.integers(1, 4))
    for n in shape:
        kind = random.integers(8)
        if kind == 0:
            parts.append(str(random.integers(-n, n)))
        elif kind == 1:
            parts.append(f"{random.integers(n)}:")
        elif kind == 2:
            parts.append(f"::{random.choice([2, 3, -1, -2])}")
        elif kind == 3 and n >= many:
            parts.append(str([int(i) for i in random.permutation(n)[:many]]))
        else:
            parts.append(":")
    return ", ".join(parts)
