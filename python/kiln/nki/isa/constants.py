"""nki.isa.constants: the enumerations of nki.isa under the name that kernels in the wild import."""

from kiln import _kiln
from kiln.nki import isa as _isa

for _name in _kiln.enums():
    globals()[_name] = getattr(_isa, _name)
nc_version = _isa.nc_version
