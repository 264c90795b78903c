"""What only Python can get wrong about the arguments of a collective; its rules are those of the instruction."""

from kiln import _kiln
from kiln._trace import memory, rules, traced_kernel
from kiln._trace.errors import refuse


def tensors(name, role, value):
    """A list of tensors of the kernel."""
    if not isinstance(value, (list, tuple)) or not value:
        found = "empty" if isinstance(value, (list, tuple)) else f"a {type(value).__name__}"
        refuse(rules.COLLECTIVE_TENSORS, f"`{role}` of nki.collectives.{name} is {found}", f"pass {role}=[tensor]")
    for tensor in value:
        if not isinstance(tensor, _kiln.NkiTensor):
            refuse(rules.COLLECTIVE_TENSORS, f"`{role}` of nki.collectives.{name} holds a {type(tensor).__name__}",
                   "pass tensors")
    _require_names(name, value)
    return list(value)


def by_channel(name, role, value):
    """A list of lists of one tensor, one list for each channel: the tensors."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(c, (list, tuple)) for c in value):
        refuse(rules.COLLECTIVE_TENSORS, f"`{role}` of nki.collectives.{name} is no list of lists",
               f"pass {role}=[[tensor]]")
    return tensors(name, role, [tensor for channel in value for tensor in channel])


def _require_names(name, listed):
    """Without them the device's compiler finds no memory, as kernels that were compiled show."""
    kernel = traced_kernel.running(f"nki.collectives.{name}")
    for tensor in listed:
        named = tensor.name in kernel.names or kernel.is_argument(tensor)
        if memory.is_hbm(tensor.buffer) and not named:
            refuse(rules.COLLECTIVE_NAMES, f"nki.collectives.{name} of `{tensor.name}`, a tensor in HBM without a name")


def operator(name, op):
    """An operator of nki.language; which ones are allowed, the instruction's rule says."""
    if not isinstance(op, _kiln.Op):
        refuse(rules.COLLECTIVE_OPERATOR, f"op={op!r} of nki.collectives.{name}")
    return op
