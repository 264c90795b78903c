"""What a collective takes: tensors, memories, dimensions, operators, channels."""

from kiln import _kiln
from kiln._trace import memory, rules, traced_kernel
from kiln._trace.errors import refuse
from kiln._trace.warnings import warn_not_portable
from kiln.nki import isa

_OPERATORS = ("add", "minimum", "maximum")


def _require_tensors(name, role, tensors):
    if not isinstance(tensors, (list, tuple)) or not tensors:
        found = "empty" if isinstance(tensors, (list, tuple)) else f"a {type(tensors).__name__}"
        refuse(rules.COLLECTIVE_TENSORS, f"`{role}` of nki.collectives.{name} is {found}", f"pass {role}=[tensor]")
    for tensor in tensors:
        if not isinstance(tensor, _kiln.NkiTensor):
            refuse(rules.COLLECTIVE_TENSORS, f"`{role}` of nki.collectives.{name} holds a {type(tensor).__name__}",
                   "pass tensors")


def require(name, srcs, dsts, sbuf=True, several=True):
    """Checks the tensors of a collective; `sbuf` when it takes SBUF too, `several` when it takes more than one."""
    _require_tensors(name, "srcs", srcs)
    _require_tensors(name, "dsts", dsts)
    if len(srcs) != len(dsts):
        refuse(rules.COLLECTIVE_TENSORS, f"{len(srcs)} srcs and {len(dsts)} dsts of nki.collectives.{name}")
    if len(srcs) > 1 and not several:
        refuse(rules.COLLECTIVE_TENSORS, f"{len(srcs)} srcs of nki.collectives.{name}",
               "it takes exactly one tensor: call it once for each")
    _require_memory(name, [*srcs, *dsts], sbuf)
    if len(srcs) > 1 and not memory.is_hbm(srcs[0].buffer):
        refuse(rules.COLLECTIVE_MEMORY, f"{len(srcs)} tensors in SBUF for nki.collectives.{name}",
               "call it once for each tensor, or use HBM")
    for src, dst in zip(srcs, dsts):
        if (src.shape, src.dtype) != (dst.shape, dst.dtype):
            refuse(rules.COLLECTIVE_SHAPES,
                   f"src {src.dtype} {src.shape} and dst {dst.dtype} {dst.shape} of nki.collectives.{name}",
                   dtype=src.dtype, shape=src.shape)
    _warn_of_the_compiler(name, srcs, dsts)


def _require_memory(name, tensors, sbuf):
    for tensor in tensors:
        if not memory.is_hbm(tensor.buffer) and not (sbuf and memory.is_sbuf(tensor.buffer)):
            allowed = "HBM or SBUF" if sbuf else "HBM"
            refuse(rules.COLLECTIVE_MEMORY, f"`{tensor.name}` of nki.collectives.{name} is in {tensor.buffer.name}",
                   f"copy it to {allowed} first")
    if len({memory.is_hbm(t.buffer) for t in tensors}) > 1:
        places = ", ".join(f"`{t.name}` in {t.buffer.name}" for t in tensors)
        refuse(rules.COLLECTIVE_MEMORY, f"nki.collectives.{name} of {places}")


def _warn_of_the_compiler(name, srcs, dsts):
    """What the device's compiler wants besides, as kernels that were compiled show."""
    kernel = traced_kernel.running(f"nki.collectives.{name}")
    for tensor in (*srcs, *dsts):
        if kernel.is_argument(tensor):
            warn_not_portable(f"nki.collectives.{name} of `{tensor.name}`, an argument of the kernel",
                              "copy it with nisa.dma_copy into a tensor of its own in nl.shared_hbm, with name=")
        elif memory.is_hbm(tensor.buffer) and tensor.name not in kernel.names:
            warn_not_portable(f"nki.collectives.{name} of `{tensor.name}`, a tensor in HBM without a name",
                              'name it: nl.ndarray(..., buffer=nl.shared_hbm, name="…")')


def require_dimension(name, tensor, dim, in_sbuf=(0,)):
    allowed = (0,) if memory.is_hbm(tensor.buffer) else in_sbuf
    if dim not in allowed or isinstance(dim, bool):
        refuse(rules.COLLECTIVE_DIMENSION, f"collective_dim={dim!r} of nki.collectives.{name} in {tensor.buffer.name}",
               allowed=" or ".join(map(str, allowed)))
    if in_sbuf != (0,) and memory.is_sbuf(tensor.buffer) and len(tensor.shape) != 2:
        refuse(rules.COLLECTIVE_DIMENSION, f"a tensor of {tensor.shape} in SBUF for nki.collectives.{name}",
               "reshape it to two dimensions")


def require_operator(name, op):
    if not isinstance(op, _kiln.Op) or op.name not in _OPERATORS:
        refuse(rules.COLLECTIVE_OPERATOR, f"op={op!r} of nki.collectives.{name}")


def require_channels(name, by_channel, channel_ids):
    """Checks lists of lists of tensors, one list for each channel."""
    for role, channels in by_channel.items():
        if not isinstance(channels, (list, tuple)) or not all(isinstance(c, (list, tuple)) for c in channels):
            refuse(rules.COLLECTIVE_TENSORS, f"`{role}` of nki.collectives.{name} is no list of lists",
                   f"pass {role}=[[tensor]]")
        if len(channels) != len(channel_ids):
            refuse(rules.COLLECTIVE_CHANNELS,
                   f"{len(channels)} channels in `{role}` and channel_ids={list(channel_ids)}",
                   "pass one list of tensors for each channel")
    if list(channel_ids) != list(range(len(channel_ids))) or not 1 <= len(channel_ids) <= 4:
        refuse(rules.COLLECTIVE_CHANNELS, f"channel_ids={list(channel_ids)} of nki.collectives.{name}")


def require_priority(name, priority):
    if priority is None:
        return
    if isinstance(priority, bool) or not isinstance(priority, int) or not 0 <= priority <= 3:
        refuse(rules.COLLECTIVE_PRIORITY, f"priority={priority!r} of nki.collectives.{name}")
    if isa.get_nc_version() < isa.nc_version.gen4:
        refuse(rules.COLLECTIVE_PRIORITY,
               f"priority={priority} of nki.collectives.{name} on {isa.get_nc_version().name}", "leave it out")
