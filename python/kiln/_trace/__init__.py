"""Kernels traced, checked and run: everything between a call of a kernel and its arrays that is not the face of NKI.
That is kiln.nki; nothing here knows it: it stands on this package."""
