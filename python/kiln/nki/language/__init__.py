"""nki.language: tensors, views, loops, and the functions over nki.isa."""

from kiln._trace.dtypes import ALL as _DTYPES
from kiln._trace.memory import (  # noqa: F401
    MemoryRegion, hbm, is_hbm, is_on_chip, is_psum, is_sbuf, private_hbm, psum, sbuf, shared_hbm)
from kiln._trace.nki_object import NKIObject  # noqa: F401
from kiln.nki import _as_of
from kiln.nki._tile_size import tile_size  # noqa: F401
from kiln.nki.language import _operators  # noqa: F401
from kiln.nki.language._loops import *  # noqa: F401,F403
from kiln.nki.language._creation import *  # noqa: F401,F403
from kiln.nki.language._print import *  # noqa: F401,F403
from kiln.nki.language._random import *  # noqa: F401,F403
from kiln.nki.language._ops import *  # noqa: F401,F403

globals().update(_DTYPES)
bool = _DTYPES["bool_"]  # noqa: A001

__getattr__, __dir__ = _as_of.names("language", globals())
