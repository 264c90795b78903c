"""Memory regions: nl.sbuf, nl.psum, nl.private_hbm (also nl.hbm) and nl.shared_hbm."""

import enum

from kiln import _kiln


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

_kiln.set_memories({"hbm": hbm, **{m.name: m for m in MemoryRegion}})


def is_sbuf(buffer):
    """Whether a buffer is nl.sbuf."""
    return buffer == sbuf


def is_psum(buffer):
    """Whether a buffer is nl.psum."""
    return buffer == psum


def is_hbm(buffer):
    """Whether a buffer lies in HBM, private or shared."""
    return buffer in (private_hbm, shared_hbm)


def is_on_chip(buffer):
    """Whether a buffer is SBUF or PSUM."""
    return buffer in (sbuf, psum)
