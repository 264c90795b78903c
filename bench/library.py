"""libkiln_bench.so as Python functions."""

import ctypes

import numpy as np


class Library:
    """One build of the library. Two of them, with and without checks, fit into one process."""

    def __init__(self, path):
        self._lib = lib = ctypes.CDLL(str(path))
        doubles, pointers = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_void_p)
        lib.kiln_bench_error.restype = ctypes.c_char_p
        lib.kiln_bench_program.restype = ctypes.c_void_p
        lib.kiln_bench_program.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, doubles]
        lib.kiln_bench_free.argtypes = [ctypes.c_void_p]
        lib.kiln_bench_run.restype = ctypes.c_bool
        lib.kiln_bench_run.argtypes = [ctypes.c_void_p, pointers, ctypes.c_int, ctypes.c_bool]
        lib.kiln_bench_small_instructions.restype = ctypes.c_bool
        lib.kiln_bench_small_instructions.argtypes = [ctypes.c_int64, pointers, ctypes.c_bool, doubles]

    def error(self):
        return self._lib.kiln_bench_error().decode()

    def program(self, name, rows, columns):
        return Program(self, name, rows, columns)

    def small_instructions(self, count, looks_for_nan=True):
        """Seconds of building, checking and running `count` small instructions on one thread."""
        arrays = [np.zeros((8, 128, 8), np.float32) for _ in range(2)]
        seconds = (ctypes.c_double * 3)()
        if not self._lib.kiln_bench_small_instructions(count, pointers_to(arrays), looks_for_nan, seconds):
            raise RuntimeError(self.error())
        return list(seconds)


class Program:
    """A checked program; calling it with its inputs and outputs runs it."""

    def __init__(self, library, name, rows, columns):
        self._library = library
        seconds = ctypes.c_double()
        self._program = library._lib.kiln_bench_program(name.encode(), rows, columns, ctypes.byref(seconds))
        if not self._program:
            raise RuntimeError(library.error())
        self.check_seconds = seconds.value

    def __call__(self, arrays, threads, looks_for_nan=True):
        if not self._library._lib.kiln_bench_run(self._program, pointers_to(arrays), threads, looks_for_nan):
            raise RuntimeError(self._library.error())

    def close(self):
        self._library._lib.kiln_bench_free(self._program)


def pointers_to(arrays):
    assert all(a.flags.c_contiguous for a in arrays)
    return (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
