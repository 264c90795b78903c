"""Files that are written completely or not at all."""

import os

from kiln import _kiln


def write_aside(path, data):
    """Writes text or bytes beside the file, then puts it in its place. OSError names the file that was asked for."""
    _kiln.write_file(os.fsencode(path), data if isinstance(data, bytes) else data.encode())
