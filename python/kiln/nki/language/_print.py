"""nl.device_print; importing it also gives tensors their repr."""

from kiln._inside import device_print  # noqa: F401

__all__ = ["device_print"]
