"""`import nki` for editors and type checkers: what kiln.nki has (docs/python.md, "Editors")."""

from kiln.nki import (
    Kernel as Kernel, NkiTensor as NkiTensor, NkiWarning as NkiWarning, api_version as api_version,
    cpu_simulate as cpu_simulate, jit as jit, simulate as simulate)

from nki import collectives as collectives, dtype as dtype, isa as isa, language as language, typing as typing

__version__: str
