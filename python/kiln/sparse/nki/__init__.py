"""The entry points that trnsparse has for single kernels."""

from .dispatch import HAS_NKI, get_backend, set_backend

__all__ = ["HAS_NKI", "get_backend", "set_backend"]
