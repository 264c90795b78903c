"""kiln.jit: a plain NumPy function, traced once for shapes and dtypes, compiled and run."""

import functools
import inspect

import numpy as np

from kiln._trace import env, tracebacks
from kiln._trace.on_ranks import calls_of_ranks
from kiln.numpy import _arguments, _creation, _dtypes, _sequence
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array
from kiln.numpy._lenses import At
from kiln.numpy._lowered import Lowered
from kiln.numpy._rules import ARGUMENTS, OPTIONS, OVERLAP, PRECISION, refuse
from kiln.numpy._trace import Trace, active, is_users, traces

BACKENDS = ("simulator", "native", "neuron")


class Traced:
    """A function as a tensor program: inputs, outputs, which of them are arguments that the function wrote to."""

    @traces
    def __init__(self, function, structure, kwargs_structure, arrays, x64, target, ranks=None, is_checked=False):
        name = getattr(function, "__name__", "function")
        self.name = name if name.isidentifier() else "function"
        trace = Trace(self.name)
        trace.target, trace.ranks, trace.place = target, ranks, _place_of(function)
        trace.doubts = [] if is_checked else None
        self.inputs = []  # (name, dtype, shape) in the order of arrays; None for one that is an input already
        with trace, _creation.patched():
            roots = self._parameters(trace, arrays, x64)
            made = function(*_arguments.unflatten(structure, roots), **_arguments.unflatten(kwargs_structure, roots))
            self._results(trace, made, roots)
        self.graph = trace.graph

    def _parameters(self, trace, arrays, x64):
        roots, seen = [], {}
        for name, x in arrays:
            if id(x) in seen and isinstance(x, np.ndarray):
                roots.append(roots[seen[id(x)]])
                self.inputs.append(None)
                continue
            seen[id(x)] = len(roots)
            dtype = _arguments.dtype_for_chip(x.dtype, name, x64)
            _require_rank(f"`{name}`", x.shape)
            root = Array(trace.input(name, dtype, x.shape))
            root._is_cell = isinstance(x, (np.ndarray, _arguments.Shape))
            if isinstance(x, np.ndarray) and not x.flags.c_contiguous:
                root._strides = tuple(n // x.itemsize for n in x.strides)
            roots.append(root)
            self.inputs.append((trace.last_input, dtype, tuple(x.shape)))
        return roots

    def _results(self, trace, made, roots):
        outputs = []
        self.structure = _arguments.flatten_result(made, outputs)
        self.outputs = []  # (name, dtype, shape, host value or None, (argument, how it is seen) or None)
        for i, x in enumerate(outputs):
            name = trace.unique("out" if len(outputs) == 1 else f"out{i}")
            known = x._known()
            if known is not None:
                known = known.astype(_dtypes.narrow(known.dtype))
            node = x._get()
            _require_rank("a result", node.shape)
            trace.graph.output(name, node.value)
            self.outputs.append((name, node.dtype, node.shape, known, _alias(x, roots)))
        self._doubts(trace)
        self.written = []  # (position, name of the output)
        for i, root in enumerate(roots):
            if self.inputs[i] is not None and root._version > 0:
                name = trace.unique(f"{self.inputs[i][0]}_after")
                trace.graph.output(name, root._get().value)
                self.written.append((i, name))

    def _doubts(self, trace):
        """One output more, beside the results: which sums 32 bits do not hold."""
        self.doubts = [(what, place) for _, what, place in trace.doubts or ()]
        if self.doubts:
            flags = ops.concat([ops.reshape(ops.cast(node, _dtypes.INT32), (1,)) for node, _, _ in trace.doubts], 0)
            name = trace.unique("beyond_32_bits")
            trace.graph.output(name, flags.value)
            self.outputs.append((name, flags.dtype, flags.shape, None, None))

    def require_32_bits(self, flags):
        for (what, place), flag in zip(self.doubts, flags):
            if flag:
                refuse(PRECISION, f"{what}, whose sum is beyond 32 bits",
                       "sum with dtype=np.float32, or with its own dtype, which wraps as it does in NumPy",
                       kind=OverflowError, place=place)

    @property
    def donated(self):
        return [self.inputs[i][0] for i, _ in self.written]


def _place_of(function):
    """(file, line) of a function of the user's; None of others."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None and is_users(code.co_filename) else None


def _require_rank(what, shape):
    if len(shape) > 8:
        refuse(ARGUMENTS, f"{what} has {len(shape)} dimensions, and tensors in memory have at most 8",
               "reshape it outside of the function, and back inside", kind=ValueError)


def _alias(x, roots):
    """(argument, function of it) when a result is an argument or a view of one."""
    for i, root in enumerate(roots):
        if x._root is root:
            lenses = []
            while x is not root:
                lenses.append(x._lens)
                x = x._parent
            if any(type(lens) is At for lens in lenses):
                return None  # which part it is, the run alone knows: a copy
            return i, functools.partial(_seen, lenses[::-1])
    return None


def _seen(lenses, array):
    for lens in lenses:
        array = lens.host(array)
    return array


class Entry:
    """A compiled call: runs it on the arrays of the host."""

    def __init__(self, traced, lowered, runner):
        self.traced, self.lowered, self.runner = traced, lowered, runner

    def __call__(self, arrays):
        return self.made_of(arrays, self.runner(self.given(arrays)))

    def on_ranks(self, arrays_of_ranks):
        """The results of each rank."""
        results = self.runner.on_ranks([self.given(arrays) for arrays in arrays_of_ranks])
        return [self.made_of(arrays, own) for arrays, own in zip(arrays_of_ranks, results)]

    def given(self, arrays):
        """{input: array} of a call."""
        traced = self.traced
        if traced.written:
            _require_apart(traced, arrays)
        given = {}
        for (name, x), told in zip(arrays, traced.inputs):
            if told is not None:
                x = x if isinstance(x, np.ndarray) else np.asarray(x)
                given[told[0]] = x if x.dtype == told[1] else _arguments.narrowed(x, told[1], name)
        return given

    def made_of(self, arrays, results):
        """What the call returns; arguments that the function writes to are written."""
        traced = self.traced
        if traced.doubts:
            traced.require_32_bits(results[traced.outputs[-1][0]])
        for i, name in traced.written:
            host = arrays[i][1]
            if isinstance(host, np.ndarray) and results[name] is not host:
                np.copyto(host, results[name], casting="unsafe")
        made = []
        for name, _, _, known, alias in traced.outputs:
            if alias is not None and isinstance(arrays[alias[0]][1], np.ndarray):
                out = alias[1](arrays[alias[0]][1])
            else:
                out = known.copy() if known is not None else results[name]
                if traced.written and any(out is x for _, x in arrays):  # the same value, not the same array
                    out = out.copy()
            made.append(out if out.shape else out[()])
        return _arguments.unflatten(traced.structure, made)


def _overlap(a, b):
    """Whether two arrays have an element in common, as far as that is found out quickly."""
    try:
        return np.may_share_memory(a, b) and np.shares_memory(a, b, max_work=10000)
    except np.exceptions.TooHardError:
        return True


def _require_apart(traced, arrays):
    for i, _ in traced.written:
        written = arrays[i][1]
        if isinstance(written, np.ndarray) and not written.flags.writeable:
            raise ValueError("assignment destination is read-only")
        for j, (name, other) in enumerate(arrays):
            if traced.inputs[j] is not None and j != i and isinstance(other, np.ndarray) and \
                    _overlap(written, other):
                refuse(OVERLAP, f"`{arrays[i][0]}`, which the function writes to, and `{name}`", kind=ValueError)


class Jitted:
    """A function that runs compiled. `lower` shows what it becomes."""

    def __init__(self, function, backend, target, opt, x64, lnc=1, search=None, ranks=None, kernel_ops=None):
        self._function, self._backend, self._target, self._opt, self._x64 = function, backend, target, opt, x64
        self._lnc, self._search, self._ranks, self._kernel_ops = lnc, search, ranks, kernel_ops
        self._entries = {}
        self._names = _parameter_names(function)
        functools.update_wrapper(self, function)

    @property
    def options(self):
        """What it is compiled for, where the caller does not say."""
        return {"target": self._target, "opt": self._opt, "lnc": self._lnc}

    def changed(self, *, target=None, ranks=None, lnc=None, backend=None):
        """The same function for another chip, or on other ranks, cores or another backend."""
        return Jitted(self._function, backend or self._backend, target or self._target, self._opt, self._x64,
                      lnc or self._lnc, self._search, ranks or self._ranks, self._kernel_ops)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        if active() is not None:
            return self._function(*args, **kwargs)
        if self._ranks is not None:
            return self._call_on_ranks(args, kwargs)
        structure, kwargs_structure, arrays, key = self._flattened(args, kwargs)
        if _sequence.recording() is not None:
            return _sequence.recording().call(self, structure, kwargs_structure, arrays, key)
        target = self._target or default_target()
        key = (target, *key)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = self._entry(structure, kwargs_structure, arrays, target)
        return entry(arrays)

    def _call_on_ranks(self, args, kwargs):
        """A list of what each rank returns."""
        calls = [self._flattened(*call) for call in calls_of_ranks(self._ranks, args, kwargs)]
        structure, kwargs_structure, arrays, key = calls[0]
        for rank, call in enumerate(calls):
            if call[3] != key:
                refuse(OPTIONS, f"rank {rank} has arguments of another kind than rank 0",
                       "give all ranks arrays of the same shapes and dtypes, and equal other values", kind=ValueError)
        target = self._target or default_target()
        key = (target, *key)
        if key not in self._entries:
            self._entries[key] = self._entry(structure, kwargs_structure, arrays, target)
        return self._entries[key].on_ranks([call[2] for call in calls])

    def _flattened(self, args, kwargs):
        arrays, key = [], []
        names = self._names
        structure = tuple(_arguments.flatten(x, names[i] if i < len(names) else f"{names[-1] if names else 'arg'}_{i}",
                                             arrays, key) for i, x in enumerate(args))
        kwargs_structure = {}
        for name in kwargs:
            key.append(name)
            kwargs_structure[name] = _arguments.flatten(kwargs[name], name, arrays, key)
        if len(arrays) > 1 and len({id(x) for _, x in arrays}) < len(arrays):
            first = {}
            key.append(tuple(first.setdefault(id(x), i) for i, (_, x) in enumerate(arrays)))
        return structure, kwargs_structure, arrays, key

    def _traced(self, structure, kwargs_structure, arrays, target, is_checked=False):
        try:
            return Traced(self._function, structure, kwargs_structure, arrays, self._x64, target, self._ranks,
                          is_checked)
        except Exception as error:
            raise error.with_traceback(_user_traceback(error)) from None

    def _entry(self, structure, kwargs_structure, arrays, target):
        from kiln.numpy import _backends

        lowered = self.lowered_for(structure, kwargs_structure, arrays, target, self._ranks is None)
        return Entry(lowered.traced, lowered, getattr(_backends, self._backend)(lowered))

    def lowered_for(self, structure, kwargs_structure, arrays, target, is_checked=False):
        traced = self._traced(structure, kwargs_structure, arrays, target, is_checked)
        return Lowered(traced, target, self._opt, self._lnc, self._search, self._ranks, self._kernel_ops)

    def lower(self, *args, target=None, opt=None, lnc=None, search=None, kernel_ops=None, **kwargs):
        """What the function becomes for these arguments, arrays or shapes such as "float32[128,512]". Options that are
        not given are those of kiln.jit; the target is trn2 where that names none. lnc=2: for the two cores of a pair.
        search: of opt=3, {"time_limit": seconds, "seed": 0, "cache": file, "executor": any concurrent.futures executor,
        "progress": True or False}. kernel_ops: how many ops a kernel has at most; functions with more are several
        kernels."""
        target, opt, lnc = target or self._target or "trn2", self._opt if opt is None else opt, lnc or self._lnc
        _require_target(target)
        _require_kernel_ops(kernel_ops)
        _require_opt(opt)
        _require_lnc(lnc)
        search = self._search if search is None else _checked_search(search)
        if self._ranks is not None:
            args, kwargs = calls_of_ranks(self._ranks, args, kwargs)[0]
        args = [_arguments.as_given(x) for x in args]
        kwargs = {k: _arguments.as_given(v) for k, v in kwargs.items()}
        structure, kwargs_structure, arrays, key = self._flattened(args, kwargs)
        traced = self._traced(structure, kwargs_structure, arrays, target)
        low = Lowered(traced, target, opt, lnc, search, self._ranks, kernel_ops or self._kernel_ops)
        low.flattened, low.key, low.keywords = self._flattened, key, kwargs
        return low

    def __repr__(self):
        return f"<kiln.jit {getattr(self._function, '__name__', self._function)!s} on {self._backend}>"


def _user_traceback(error):
    """The user's frames alone, unless ours raised what they should not."""
    kept = tracebacks.without_our_frames(error.__traceback__)
    return kept if kept is not None else error.__traceback__


def default_target():
    """What the environment says; trn2 when it says nothing."""
    return env.target() if env.is_target_chosen() else "trn2"


def _parameter_names(function):
    """The names of positional parameters; that of *args last."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]


def _require_target(target):
    from kiln import _kiln

    if target not in _kiln.chips:
        refuse(OPTIONS, f"target={target!r}", f"pass one of {', '.join(_kiln.chips)}", kind=ValueError)


def _require_opt(opt):
    if opt not in (1, 2, 3) or isinstance(opt, bool):
        refuse(
            OPTIONS, f"opt={opt!r}", "pass 1 (rules alone), 2 (compared with the timing model) or 3 (a search)",
            kind=ValueError
        )


def _require_lnc(lnc):
    if lnc not in (1, 2) or isinstance(lnc, bool):
        refuse(OPTIONS, f"lnc={lnc!r}", "pass 1, or 2 for a pair of cores", kind=ValueError)


def _require_kernel_ops(kernel_ops):
    if kernel_ops is not None and (isinstance(kernel_ops, bool) or not isinstance(kernel_ops, int) or kernel_ops < 1):
        refuse(OPTIONS, f"kernel_ops={kernel_ops!r}", "pass a number of ops, or leave it out", kind=ValueError)


_SEARCH = ("time_limit", "seed", "cache", "executor", "progress")


def _checked_search(search):
    search = dict(search or {})
    for name in search:
        if name not in _SEARCH:
            refuse(OPTIONS, f"search has `{name}`", f"its options are {', '.join(_SEARCH)}", kind=ValueError)
    return search


def jit(function=None, *, backend="simulator", target=None, opt=2, x64="error", lnc=1, search=None, ranks=None,
        kernel_ops=None):
    """Makes a plain NumPy function run compiled: `@kiln.jit`, or `kiln.jit(f, backend="native")`. Arrays among the
    arguments are inputs; everything else is a part of the program. backend: "simulator" runs the compiled program,
    "native" the tensor program in double on the CPU, "neuron" the emitted source on a device. x64="narrow" lets 64-bit
    arrays in and computes with 32 bits. lnc=2 splits the work over a pair of cores; search has the options of opt=3,
    as `lower` takes them. ranks=n runs it on so many ranks, which meet in kiln.numpy.all_reduce and its like: arguments
    may be kiln.per_rank([...]), and what comes back is a list. Functions with more than kernel_ops ops are several
    kernels, called one after the other."""
    if function is None:
        return functools.partial(jit, backend=backend, target=target, opt=opt, x64=x64, lnc=lnc, search=search,
                                 ranks=ranks, kernel_ops=kernel_ops)
    if not callable(function):
        refuse(OPTIONS, f"kiln.jit of a {type(function).__name__}", "pass a function", kind=TypeError)
    if backend not in BACKENDS:
        refuse(OPTIONS, f"backend={backend!r}", f"pass one of {', '.join(BACKENDS)}", kind=ValueError)
    if target is not None:
        _require_target(target)
    _require_opt(opt)
    _require_lnc(lnc)
    if ranks is not None:
        env.require_ranks(ranks, f"ranks={ranks!r}")
    _require_kernel_ops(kernel_ops)
    return Jitted(function, backend, target, opt, _dtypes.option_x64(x64), lnc, _checked_search(search), ranks,
                  kernel_ops)
