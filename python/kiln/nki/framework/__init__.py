"""nki.framework: where integrations find the Kernel class."""

from kiln.nki.framework import compiled, kernel  # noqa: F401
