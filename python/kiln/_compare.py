"""kiln.compare: the first instruction of a kernel whose result departs from a reference, with its line."""

import numbers

import numpy as np

from kiln import _kiln
from kiln._program import plain
from kiln._trace import env, inside, rules, shown, simulate
from kiln._trace.arrays import Argument, is_array
from kiln._trace.errors import NkiValidationError, refuse
from kiln._trace.kernel import Kernel


class Departure:
    """Where a kernel departs: tensor (and the core whose it is), element, both values, and the instruction that wrote
    it. No departure is None."""

    def __init__(self, key, element, got, want, run, writer=None):
        self.core, self.tensor = key if isinstance(key, tuple) else (None, key)
        self.element, self.got, self.want = element, got, want
        self.index = self.instruction = self.loc = None
        if writer is not None:
            core, self.index = writer
            self.core = core if len(run.programs) > 1 else None
            self.instruction = _kiln.instruction_text(run.programs[core], self.index)
            self.loc = _kiln.instruction_location(run.programs[core], self.index)

    def __bool__(self):
        return True

    def __str__(self):
        place = f"\n  --> {self.loc}\n   | {self.instruction}" if self.loc else ""
        core = "" if self.core is None else f"core {self.core}: "
        element = ", ".join(map(str, self.element))
        return f"{core}`{self.tensor}`[{element}] is {self.got}, the reference has {self.want}{place}"

    __repr__ = __str__

    def _repr_html_(self):
        return shown.as_html("", str(self))


class _Run:
    """A kernel traced on inputs, with the values of its tensors. A tensor's key is its name, or (core, name) for what
    one core of a pair has for itself."""

    def __init__(self, kernel, inputs):
        function, lnc = plain(kernel)
        args, kwargs = ([], inputs) if isinstance(inputs, dict) else (inputs, {})
        with inside.with_values():
            self.cores = simulate.trace_cores(function, lnc, args, kwargs)
        self.programs = [core.program() for core in self.cores]
        self.arguments = self.cores[0].arguments
        self.ids, self.shapes = {}, {}  # key -> [(core, id of the tensor)], key -> shape
        for core, program in enumerate(self.programs):
            program.check(env.reserved_psum_banks()).raise_if_failed()
            for i, t in enumerate(program.tensors):
                shared = lnc == 1 or t["memory"] == "shared_hbm" or t["role"] != "internal"
                key = t["name"] if shared else (core, t["name"])
                self.ids.setdefault(key, []).append((core, i))
                self.shapes[key] = tuple(t["shape"])

    def values(self, keys, programs=None):
        """key -> (array, mask of what nobody wrote). One run for all; one each when they do not fit together."""
        wanted = {k: self.ids[k][0] for k in keys}
        programs = programs or self.programs
        try:
            found = inside.tensor_values(programs, self.arguments, list(wanted.values()))
        except NkiValidationError:
            found = {}
            for one in wanted.values():
                try:
                    found.update(inside.tensor_values(programs, self.arguments, [one]))
                except NkiValidationError:
                    continue  # a tensor of a loop's body: it has no value at the end
        return {k: found[one] for k, one in wanted.items() if one in found}

    def writers(self, key):
        """(core, instruction) of all that write a tensor."""
        return [(core, w) for core, i in self.ids[key] for w in _kiln.writers(self.programs[core], i)]

    def written(self):
        """Keys of the tensors that some instruction writes, in the order of the first write."""
        first = {key: self.writers(key)[:1] for key in self.ids}
        return sorted((k for k in first if first[k]), key=lambda k: first[k][0][1])

    def until(self, core, last, before=False):
        """The programs up to an instruction of a core; the other core runs until it would wait for this one."""
        mine = _kiln.cut_at(self.programs[core], last, before)
        return [mine if c == core else _kiln.cut_at_meeting(p, _kiln.meetings(mine))
                for c, p in enumerate(self.programs)]

    def phase(self, core, instruction):
        """Orders instructions of both cores: how often the cores have met before it."""
        return _kiln.meetings(_kiln.cut_at(self.programs[core], instruction, True))

    def writer_of(self, key, element, final):
        """The (core, instruction) that gave an element the value it has at the end."""
        candidates = [self._first_with(core, [w for c, w in self.writers(key) if c == core], key, element, final)
                      for core in dict.fromkeys(c for c, _ in self.writers(key))]
        # What the other core wrote is there before any candidate of this one.
        changed = [c for c in candidates if not self._has(key, element, final, self.until(*c, before=True))]
        return (changed or candidates or [None])[0]

    def _first_with(self, core, writers, key, element, final):
        low, high = 0, len(writers) - 1
        while low < high:
            middle = (low + high) // 2
            there = self._has(key, element, final, self.until(core, writers[middle]))
            low, high = (low, middle) if there else (middle + 1, high)
        return core, writers[low]

    def _has(self, key, element, value, programs):
        found = self.values([key], programs)
        return key in found and not found[key][1][element] and _same(found[key][0][element], value)


def _same(a, b):
    return a == b or (a != a and b != b)


def _numbers(array):
    return np.asarray(array).astype(np.float64)


def _differences(got, want, unwritten, rtol, atol):
    """Elements that depart; what nobody has written departs nowhere."""
    want = np.broadcast_to(_numbers(want), got.shape)
    return np.argwhere(~np.isclose(_numbers(got), want, rtol=rtol, atol=atol, equal_nan=True) & ~unwritten)


def _by_key(run, arrays):
    """The arrays of a dict by key: a name that both cores have for themselves stands for both."""
    out = {}
    for name, array in arrays.items():
        keys = [k for k in (name, *((c, name) for c in range(len(run.programs)))) if k in run.ids]
        if not keys:
            known = ", ".join(str(k) for k in run.written())
            raise KeyError(f"the kernel has no tensor {name!r}; it has {known}")
        out.update((k, array) for k in keys)
    return out


def _expected(run, reference, inputs):
    """key -> array, from whatever the reference is."""
    if isinstance(reference, dict):
        return _by_key(run, reference)
    if isinstance(reference, Kernel):
        other = _Run(reference, _copies(inputs))
        shared = [k for k in other.written() if run.shapes.get(k) == other.shapes[k]]
        expected = {k: np.ma.masked_array(v, m) for k, (v, m) in other.values(shared).items()}
        mine, theirs = ([t.name for t in r.cores[0].outputs] for r in (run, other))
        for name, its in zip(mine, theirs):
            expected.setdefault(name, other.values([its])[its][0])
        return expected
    made = reference(**_copies(inputs)) if isinstance(inputs, dict) else reference(*_copies(inputs))
    made = made if isinstance(made, (tuple, list)) else (made,)
    names = [t.name for t in run.cores[0].outputs] or [n for n in run.written() if n in run.arguments]
    if len(made) != len(names):
        raise ValueError(f"the reference returns {len(made)} arrays, the kernel {len(names)}: {', '.join(names)}")
    return dict(zip(names, made))


def _require_shape(key, got, want):
    """Refuses a reference that has another shape than its tensor, and one that holds no numbers."""
    name = key if isinstance(key, str) else f"{key[1]}, core {key[0]}"
    kind = np.asarray(want).dtype
    if kind.kind in "OSUM":
        refuse(rules.ARGUMENT_KIND, f"the reference of `{name}` is an array of {kind.name}", "pass an array of numbers")
    shape = np.shape(want)
    try:
        fits = np.broadcast_shapes(shape, got.shape) == got.shape
    except ValueError:
        fits = False
    if not fits:
        refuse(rules.REFERENCE_SHAPE, f"`{name}` has the shape {got.shape}, its reference {shape}",
               tensor=name, shape=got.shape)


def _copies(inputs):
    def copy(value):
        return np.array(Argument(value).array) if is_array(value) else value

    return {k: copy(v) for k, v in inputs.items()} if isinstance(inputs, dict) else [copy(v) for v in inputs]


def _require_kinds(reference, inputs, rtol, atol):
    """Refuses what compare() cannot work with, before anything runs."""
    if not isinstance(inputs, (dict, list, tuple)):
        refuse(rules.ARGUMENT_KIND, f"`inputs` of kiln.compare is a {type(inputs).__name__}",
               "pass a list or a dict of the kernel's arguments")
    if not isinstance(reference, dict) and not callable(reference):
        refuse(rules.ARGUMENT_KIND, f"`reference` of kiln.compare is a {type(reference).__name__}",
               "pass a kernel, a function, or a dict from names of tensors to arrays")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not isinstance(value, numbers.Real):
            refuse(rules.ARGUMENT_KIND, f"`{name}` of kiln.compare is a {type(value).__name__}", "pass a number")


def compare(kernel, reference, inputs, rtol=1e-5, atol=1e-8):
    """The first instruction whose result departs from the reference by more than the tolerance, as a Departure, or
    None.

    `inputs` is a list or a dict of arguments. `reference` is another kernel (tensors of the same name are compared), a
    function of the same arguments that returns the expected outputs, or a dict from names of tensors to arrays; of
    kernel[2], (0, name) is the tensor that core 0 has for itself."""
    _require_kinds(reference, inputs, rtol, atol)
    run = _Run(kernel, _copies(inputs))
    expected = _expected(run, reference, inputs)
    found = []
    for key, (got, unwritten) in run.values(list(expected)).items():
        want = expected[key]
        _require_shape(key, got, want)
        hidden = np.broadcast_to(np.ma.getmaskarray(want), got.shape) if isinstance(want, np.ma.MaskedArray) else False
        wrong = _differences(got, np.ma.getdata(want), unwritten | hidden, rtol, atol)
        if len(wrong):
            element = tuple(int(i) for i in wrong[0])
            value = np.broadcast_to(np.ma.getdata(want), got.shape)[element]
            writer = run.writer_of(key, element, got[element])
            order = (1,) if writer is None else (0, run.phase(*writer), writer[1])
            found.append((order, Departure(key, element, got[element], value, run, writer)))
    return min(found, key=lambda f: f[0], default=(None, None))[1]
