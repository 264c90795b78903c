"""nl.device_print; importing it also gives tensors their repr."""

from kiln._trace.device_print import device_print

__all__ = ["device_print"]
