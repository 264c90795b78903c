"""nki.framework.kernel."""

from kiln.nki._kernel import Kernel  # noqa: F401
