"""The nki package of NKI 0.6.0, on Kiln's machine."""

import os

from kiln import _kiln

_kiln.set_package_folder(os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep)

from kiln import _errors  # noqa: E402,F401
from kiln.nki._dtypes import DType as dtype  # noqa: E402
from kiln.nki._kernel import Kernel, jit, simulate  # noqa: E402
from kiln.nki._simulate import NkiWarning  # noqa: E402
from kiln.nki import collectives, isa, language, typing  # noqa: E402

NkiTensor = _kiln.NkiTensor
__version__ = "0.6.0"
__all__ = ["Kernel", "NkiTensor", "NkiWarning", "collectives", "dtype", "isa", "jit", "language", "simulate", "typing"]
