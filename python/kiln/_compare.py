"""kiln.compare: the first instruction of a kernel whose result departs from a reference, with its line."""

import numpy as np

from kiln import _inside, _kiln
from kiln._program import plain
from kiln.nki import _arrays, _simulate
from kiln.nki._kernel import Kernel


class Departure:
    """Where a kernel departs: tensor, element, both values, and the instruction that wrote it. False when nowhere."""

    def __init__(self, name, element, got, want, program=None, instruction=None):
        self.tensor, self.element, self.got, self.want = name, element, got, want
        self.instruction = None if instruction is None else _kiln.instruction_text(program, instruction)
        self.loc = None if instruction is None else _kiln.instruction_location(program, instruction)
        self.index = instruction

    def __bool__(self):
        return True

    def __str__(self):
        place = f"\n  --> {self.loc}\n   | {self.instruction}" if self.loc else ""
        return f"`{self.tensor}`[{', '.join(map(str, self.element))}] is {self.got}, the reference has {self.want}{place}"

    __repr__ = __str__


class _Run:
    """A kernel traced on inputs, with the values of its tensors."""

    def __init__(self, kernel, inputs):
        function, lnc = plain(kernel)
        if lnc != 1:
            raise TypeError("kiln.compare takes a kernel of one core: kernel, not kernel[2]")
        args, kwargs = ([], inputs) if isinstance(inputs, dict) else (list(inputs), {})
        with _inside.with_values():
            self.core = _simulate.trace_cores(function, 1, args, kwargs)[0]
        self.program = self.core.program()
        self.program.check().raise_if_failed()
        self.ids = {t["name"]: i for i, t in enumerate(self.program.tensors)}

    def values(self, names, last=None):
        """name -> (array, mask of what nobody wrote). One run for all; one each when they do not fit together."""
        ids = [self.ids[n] for n in names]
        try:
            found = _inside.tensor_values(self.program, self.core.arguments, ids, last)
        except _kiln_error():
            found = {}
            for i in ids:
                try:
                    found.update(_inside.tensor_values(self.program, self.core.arguments, [i], last))
                except _kiln_error():
                    continue  # a tensor of a loop's body: it has no value at the end
        return {n: found[self.ids[n]] for n in names if self.ids[n] in found}

    def written(self):
        """Names of the tensors that some instruction writes, in the order of the first write."""
        first = {n: _kiln.writers(self.program, i)[:1] for n, i in self.ids.items()}
        return sorted((n for n in first if first[n]), key=lambda n: first[n][0])

    def writer_of(self, name, element, final):
        """The instruction that gave an element the value it has at the end."""
        writers = _kiln.writers(self.program, self.ids[name])
        low, high = 0, len(writers) - 1
        while low < high:
            middle = (low + high) // 2
            values, unwritten = self.values([name], writers[middle])[name]
            there = not unwritten[element] and _same(values[element], final)
            low, high = (low, middle) if there else (middle + 1, high)
        return writers[low] if writers else None


def _kiln_error():
    from kiln._errors import NkiValidationError

    return NkiValidationError


def _same(a, b):
    return a == b or (a != a and b != b)


def _numbers(array):
    return np.asarray(array).astype(np.float64)


def _differences(got, want, unwritten, rtol, atol):
    """Elements that depart; what nobody has written departs nowhere."""
    want = np.broadcast_to(_numbers(want), got.shape)
    return np.argwhere(~np.isclose(_numbers(got), want, rtol=rtol, atol=atol, equal_nan=True) & ~unwritten)


def _expected(run, reference, inputs):
    """name -> array, from whatever the reference is."""
    if isinstance(reference, dict):
        missing = [n for n in reference if n not in run.ids]
        if missing:
            raise KeyError(f"the kernel has no tensor {missing[0]!r}; it has {', '.join(run.written())}")
        return reference
    if isinstance(reference, Kernel):
        other = _Run(reference, _copies(inputs))
        shapes = {t["name"]: tuple(t["shape"]) for t in run.program.tensors}
        shared = [n for n in other.written() if n in run.ids
                  and shapes[n] == tuple(other.program.tensors[other.ids[n]]["shape"])]
        expected = {n: np.ma.masked_array(v, m) for n, (v, m) in other.values(shared).items()}
        mine, theirs = ([t.name for t in core.outputs] for core in (run.core, other.core))
        for name, its in zip(mine, theirs):
            expected.setdefault(name, other.values([its])[its][0])
        return expected
    made = reference(**_copies(inputs)) if isinstance(inputs, dict) else reference(*_copies(inputs))
    made = made if isinstance(made, (tuple, list)) else (made,)
    names = [t.name for t in run.core.outputs] or [n for n in run.written() if n in run.core.arguments]
    if len(made) != len(names):
        raise ValueError(f"the reference returns {len(made)} arrays, the kernel {len(names)}: {', '.join(names)}")
    return dict(zip(names, made))


def _copies(inputs):
    def copy(value):
        return np.array(_arrays.Argument(value).array) if _arrays.is_array(value) else value

    return {k: copy(v) for k, v in inputs.items()} if isinstance(inputs, dict) else [copy(v) for v in inputs]


def compare(kernel, reference, inputs, rtol=1e-5, atol=1e-8):
    """The first instruction whose result departs from the reference by more than the tolerance, as a Departure, or None.

    `inputs` is a list or a dict of arguments. `reference` is another kernel (tensors of the same name are compared), a
    function of the same arguments that returns the expected outputs, or a dict from names of tensors to arrays."""
    run = _Run(kernel, _copies(inputs))
    expected = _expected(run, reference, inputs)
    found = []
    for name, (got, unwritten) in run.values(list(expected)).items():
        want = expected[name]
        hidden = np.broadcast_to(np.ma.getmaskarray(want), got.shape) if isinstance(want, np.ma.MaskedArray) else False
        wrong = _differences(got, np.ma.getdata(want), unwritten | hidden, rtol, atol)
        if len(wrong):
            element = tuple(int(i) for i in wrong[0])
            value = np.broadcast_to(np.ma.getdata(want), got.shape)[element]
            writer = run.writer_of(name, element, got[element])
            found.append(Departure(name, element, got[element], value, run.program, writer))
    return min(found, key=lambda d: (d.index is None, d.index or 0), default=None)
