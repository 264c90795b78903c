"""Memory regions: nl.sbuf, nl.psum, nl.private_hbm (also nl.hbm) and nl.shared_hbm."""

import enum

from kiln import _kiln
from kiln._trace import rules
from kiln._trace.errors import refuse


class MemoryRegion(enum.Enum):
    sbuf = "sbuf"
    psum = "psum"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"

    def __repr__(self):
        return f"nl.{self.name}"


sbuf = MemoryRegion.sbuf
psum = MemoryRegion.psum
private_hbm = MemoryRegion.private_hbm
shared_hbm = MemoryRegion.shared_hbm
hbm = private_hbm

ALL = {"hbm": hbm, **{m.name: m for m in MemoryRegion}}  # by the names of the native half


def _region(buffer):
    """The buffer; a tensor is told to name its own."""
    if isinstance(buffer, _kiln.NkiTensor):
        refuse(rules.BUFFER, f"the tensor `{buffer.name}` as a buffer")
    return buffer


def is_sbuf(buffer):
    """Whether a buffer is nl.sbuf."""
    return _region(buffer) == sbuf


def is_psum(buffer):
    """Whether a buffer is nl.psum."""
    return _region(buffer) == psum


def is_hbm(buffer):
    """Whether a buffer lies in HBM, private or shared."""
    return _region(buffer) in (private_hbm, shared_hbm)


def is_on_chip(buffer):
    """Whether a buffer is SBUF or PSUM."""
    return _region(buffer) in (sbuf, psum)
