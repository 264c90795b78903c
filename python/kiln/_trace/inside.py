"""Values inside a kernel while its Python runs: the program issued so far is run with the tensor as an extra output."""

import contextlib
import html
import threading

import numpy as np

from kiln import _kiln
from kiln._trace import env, traced_kernel
from kiln._trace.arrays import bytes_of, numpy_dtype
from kiln._trace.errors import NkiValidationError

_this_thread = threading.local()  # .values: the arrays of the kernel that is traced hold values, not shapes only
_QUICK = 2000  # instructions: repr() runs programs up to this size, print() any


class NotReady(Exception):
    """There are no values to show, and why."""


@contextlib.contextmanager
def with_values():
    """While a kernel is traced with real arrays."""
    before = getattr(_this_thread, "values", False)
    _this_thread.values = True
    try:
        yield
    finally:
        _this_thread.values = before


def has_values():
    """Whether the kernel that is traced was given real arrays."""
    return getattr(_this_thread, "values", False)


def run(fragments, arguments, fill=0, **options):
    """Runs fragments on copies of the arguments; name -> array of every tensor that enters or leaves them."""
    arrays = {}
    for tensor in (t for f in fragments for t in f.tensors):
        name = tensor["name"]
        if tensor["role"] == "internal" or name in arrays:
            continue
        if name in arguments:
            arrays[name] = arguments[name][0].array.copy()
        else:
            arrays[name] = np.empty(tensor["shape"], numpy_dtype(tensor["dtype"]))
            bytes_of(arrays[name])[:] = fill
    _kiln.run(fragments, [{n: bytes_of(a) for n, a in arrays.items()}], env.threads(),
              max_iterations=env.max_iterations(), nan="off", **options)
    return arrays


def tensor_values(programs, arguments, wanted):
    """(core, id) -> (array, mask of what nobody has written) of whole tensors at the end of the programs."""
    fragments = [_kiln.fragment(p, [i for c, i in wanted if c == core], f"core {core}: ", len(programs))
                 for core, p in enumerate(programs)]
    # What nobody wrote still holds what the buffer held: it differs between two fillings.
    first, second = (run(fragments, arguments, fill) for fill in (0x00, 0xA5))
    out = {}
    for core, i in wanted:
        n = fragments[core].tensors[i]["name"]
        same = bytes_of(first[n]) == bytes_of(second[n])
        unwritten = ~same.reshape(first[n].size, -1).all(axis=1).reshape(first[n].shape)
        out[core, i] = (first[n], unwritten)
    return out


class Probe:
    """A point of the program where a tensor is looked at: this one, in the kernel that is traced."""

    def __init__(self, kernel, tensor):
        self.number = kernel.trace.add_probe(tensor)
        self._dtype, self._shape = numpy_dtype(tensor.dtype), tensor.shape

    def array(self, values, missing):
        """What the machine saw there, masked where nobody has written."""
        mask = np.frombuffer(missing, bool).reshape(*self._shape, -1).any(axis=-1)
        return np.ma.masked_array(np.frombuffer(values, self._dtype).reshape(self._shape), mask)


def so_far(kernel, probes):
    """The fragments that tell what the core whose Python runs has done until now, that core's last, with probes in it,
    and for each fragment the instructions that stand for its probes. Of loops that are open, the first pass. Raises
    NotReady."""
    mine, copies = _kiln.with_probes(_kiln.copy_so_far(kernel.trace), kernel.trace, [p.number for p in probes])
    mine = _kiln.first_pass(mine, kernel.trace.open_loops)
    met = _kiln.meetings(mine)
    if kernel.trace.lnc == 1 or not met:
        return [_kiln.fragment(mine, [])], [copies]
    if kernel.trace.program_id == 0:
        raise NotReady("core 0 has met core 1, whose Python runs later; nl.device_print shows it when both have run")
    other = _kiln.cut_at_meeting(kernel.peer.program(), met)
    return [_kiln.fragment(p, [], lnc=2) for p in (other, mine)], [[], copies]


def values(tensor):
    """What a tensor holds now, as a masked array: elements that nobody has written are masked. Raises NotReady."""
    kernel = traced_kernel.running_or_none()
    if kernel is None or tensor.trace != kernel.trace:
        raise NotReady("its kernel is not running")
    if not has_values():
        raise NotReady("the kernel runs on shapes only")
    seen = []
    try:
        probe = Probe(kernel, tensor)
        fragments, watched = so_far(kernel, [probe])
        run(fragments, kernel.arguments, watched=watched,
            see=lambda core, copy, *found: seen.append(probe.array(*found)))
    except NkiValidationError as error:
        raise NotReady(error.diagnostics[0].found) from None
    if not seen:
        raise NotReady("the loop has no first pass")
    return seen[-1]


def headline(tensor):
    """Name, dtype, shape, memory and, when it was placed by hand, address."""
    shape = ", ".join(map(str, tensor.shape))
    address = getattr(tensor, "address", None)
    place = f" at partition {address[0]}, byte {address[1]}" if address else ""
    return f"{tensor.name}: {tensor.dtype}[{shape}] in {tensor.buffer.name}{place}"


def text_of(masked):
    """A masked array as NumPy prints the array, with `--` for what is masked; ml_dtypes as their values."""
    data = masked.data.astype(np.float32) if masked.dtype.kind == "V" else masked.data
    mask = np.ma.getmaskarray(masked)
    if not mask.any():
        return str(data)
    # An array of positions is laid out as the array itself would be; first to learn which elements are shown.
    positions, shown = np.arange(data.size).reshape(data.shape), []
    np.array2string(positions, formatter={"int_kind": lambda at: shown.append(int(at)) or "0"})
    written = [at for at in shown if not mask.flat[at]]
    words = dict(zip(written, _words(data.flat[written]))) if written else {}
    width = max(map(len, words.values()), default=2)
    return np.array2string(positions, formatter={"int_kind": lambda at: words.get(int(at), "--").rjust(width)})


def _words(elements):
    """The elements as NumPy writes them in one array, all of one width."""
    column = np.array2string(elements.reshape(-1, 1), threshold=elements.size + 1)
    return [line[2:].rstrip("]") for line in column.split("\n")]  # behind "[[" or " ["


def _text_of_values(tensor):
    text = text_of(values(tensor))
    return f"(in the first pass of the loop)\n{text}" if tensor.trace.open_loops else text


def _values_or_why(tensor):
    try:
        return _text_of_values(tensor)
    except NotReady as why:
        return f"(no values: {why})"


def text(tensor):
    """What print(tensor) shows: its values, as NumPy does."""
    try:
        return _text_of_values(tensor)
    except NotReady as why:
        return f"<NkiTensor {headline(tensor)}> (no values: {why})"


def representation(tensor):
    """repr(): with values while that is quick."""
    if tensor.trace.instructions > _QUICK:
        return f"<NkiTensor {headline(tensor)}>"
    return f"<NkiTensor {headline(tensor)}>\n{_values_or_why(tensor)}"


def as_html(tensor):
    """What a notebook shows."""
    return f"<b>NkiTensor</b> {html.escape(headline(tensor))}<pre>{html.escape(_values_or_why(tensor))}</pre>"


# Members of NkiTensor.
MEMBERS = {"__str__": text, "__repr__": representation, "_repr_html_": as_html}
