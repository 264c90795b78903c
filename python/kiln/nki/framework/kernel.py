"""nki.framework.kernel."""

from kiln._trace.kernel import Kernel  # noqa: F401
