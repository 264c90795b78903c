"""nki.compiler: names that test harnesses import. Kiln makes no NEFF: what would need one raises not_yet."""

from kiln.nki import _removed
from kiln.nki.compiler import frontend, kernel_builder, ncc_driver  # noqa: F401


def __getattr__(name):
    raise _removed.absent("nki.compiler", name)
