"""Values inside a kernel while its Python runs: the program issued so far is run with the tensor as an extra output."""

import contextlib
import html
import threading

import numpy as np

from kiln import _kiln
from kiln._errors import NkiValidationError
from kiln.nki import _arrays, _trace

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


def _run(fragments, arguments, fill):
    """Runs fragments on copies of the arguments; name -> array of every tensor that enters or leaves them."""
    arrays = {}
    for tensor in (t for f in fragments for t in f.tensors):
        name = tensor["name"]
        if tensor["role"] == "internal" or name in arrays:
            continue
        if name in arguments:
            arrays[name] = arguments[name][0].array.copy()
        else:
            arrays[name] = np.empty(tensor["shape"], _arrays.numpy_dtype(tensor["dtype"]))
            _arrays.bytes_of(arrays[name])[:] = fill
    _kiln.run(fragments, {n: _arrays.bytes_of(a) for n, a in arrays.items()})
    return arrays


def tensor_values(programs, arguments, wanted):
    """(core, id) -> (array, mask of what nobody has written) of whole tensors at the end of the programs."""
    fragments = [_kiln.fragment(p, [i for c, i in wanted if c == core], f"core {core}: ", len(programs))
                 for core, p in enumerate(programs)]
    # What nobody wrote still holds what the buffer held: it differs between two fillings.
    first, second = (_run(fragments, arguments, fill) for fill in (0x00, 0xA5))
    out = {}
    for core, i in wanted:
        n = fragments[core].tensors[i]["name"]
        same = _arrays.bytes_of(first[n]) == _arrays.bytes_of(second[n])
        unwritten = ~same.reshape(first[n].size, -1).all(axis=1).reshape(first[n].shape)
        out[core, i] = (first[n], unwritten)
    return out


def _so_far(kernel):
    """The programs that tell what the core whose Python runs has done until now, that core's last."""
    mine = _kiln.first_pass(_kiln.finish(kernel.trace, []), kernel.trace.open_loops)
    met = _kiln.meetings(mine)
    if kernel.trace.lnc == 1 or not met:
        return [mine]
    if kernel.trace.program_id == 0:
        raise NotReady("core 0 has met core 1, whose Python runs later; core 1 can show its tensors")
    return [_kiln.cut_at_meeting(kernel.peer.program(), met), mine]


def _view(base, tensor):
    """The elements of a base array that a view of the tensor shows."""
    flat = base.reshape(-1)
    if base.dtype != bool or tensor.dtype == "bool_":
        flat = flat.view(_arrays.numpy_dtype(tensor.dtype))
    size = flat.dtype.itemsize
    return np.lib.stride_tricks.as_strided(flat[tensor.offset:], tensor.shape, [s * size for s in tensor.strides])


def values(tensor):
    """What a tensor holds now, as a masked array: bytes that nobody has written are masked. Raises NotReady."""
    kernel = getattr(_trace._this_thread, "running", None)
    if kernel is None or tensor.trace != kernel.trace:
        raise NotReady("its kernel is not running")
    if not getattr(_this_thread, "values", False):
        raise NotReady("the kernel runs on shapes only")
    if tensor.is_indirect():
        raise NotReady("a run-time address")
    programs = _so_far(kernel)
    key = (len(programs) - 1, tensor.tensor_id)
    try:
        base, unwritten = tensor_values(programs, kernel.arguments, [key])[key]
    except NkiValidationError as error:
        raise NotReady(error.diagnostics[0].found) from None
    wide = np.broadcast_to(unwritten[..., None], (*unwritten.shape, base.dtype.itemsize))
    array = _view(base, tensor)
    mask = _view(np.ascontiguousarray(wide).view(np.uint8).reshape(-1), _Bytes(tensor, array.dtype)).any(axis=-1)
    return np.ma.masked_array(array, mask)


class _Bytes:
    """The same view counted in bytes, with the bytes of an element as a last dimension."""

    def __init__(self, tensor, dtype):
        size = dtype.itemsize
        self.dtype, self.offset = "uint8", tensor.offset * size
        self.shape = (*tensor.shape, size)
        self.strides = (*(s * size for s in tensor.strides), 1)


def headline(tensor):
    """Name, dtype, shape, memory and, when it was placed by hand, address."""
    shape = ", ".join(map(str, tensor.shape))
    address = getattr(tensor, "address", None)
    place = f" at partition {address[0]}, byte {address[1]}" if address else ""
    return f"{tensor.name}: {tensor.dtype}[{shape}] in {tensor.buffer.name}{place}"


def _text_of_values(tensor):
    try:
        shown = values(tensor)
    except NotReady as why:
        return f"(no values: {why})"
    plain = shown.astype(np.float32) if shown.dtype.kind == "V" else shown  # ml_dtypes print as their values
    text = str(np.ma.masked_array(plain.data, plain.mask))
    return f"(in the first pass of the loop)\n{text}" if tensor.trace.open_loops else text


def text(tensor):
    """What print(tensor) shows."""
    return f"<NkiTensor {headline(tensor)}>\n{_text_of_values(tensor)}"


def representation(tensor):
    """repr(): with values while that is quick."""
    if tensor.trace.instructions > _QUICK:
        return f"<NkiTensor {headline(tensor)}>"
    return text(tensor)


def as_html(tensor):
    """What a notebook shows."""
    return f"<b>NkiTensor</b> {html.escape(headline(tensor))}<pre>{html.escape(_text_of_values(tensor))}</pre>"


def device_print(print_prefix, tensor):
    """Prints the tensor with a prefix, as the device would at this point of the program."""
    if not isinstance(print_prefix, str):
        raise TypeError(f"the prefix of nl.device_print is a string, not {type(print_prefix).__name__}")
    print(f"{print_prefix} {headline(tensor)}\n{_text_of_values(tensor)}", flush=True)


_kiln.NkiTensor.__str__ = text
_kiln.NkiTensor.__repr__ = representation
_kiln.NkiTensor._repr_html_ = as_html
