"""nl.device_print."""

from kiln._trace.device_print import device_print

__all__ = ["device_print"]
