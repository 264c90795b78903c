"""Files that are written completely or not at all."""

import contextlib
import os
import secrets


def write_aside(path, data):
    """Writes text or bytes beside the file, then puts it in its place. Errors name the file that was asked for."""
    folder, name = os.path.split(os.path.abspath(path))
    aside = os.path.join(folder, f".{name}.{secrets.token_hex(4)}")
    try:
        with open(aside, "xb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        os.replace(aside, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        if isinstance(error, OSError):
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        raise
