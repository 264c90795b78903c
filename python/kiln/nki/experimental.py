"""nki.experimental: names that were here before they moved to nki.language."""

from kiln.nki.language import fori_loop, while_loop  # noqa: F401
