"""The command `kiln`, also as `python -m kiln`: text programs go to the native commands, Python runs here."""

import sys

# `python -m` puts the current folder first, and the program `kiln` does not: nothing lying there is imported.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib
import os


def _python(request):
    """A command whose files are kernels in Python: kiln.commands has a module with `main(request)` for each."""
    try:
        code = importlib.import_module(f"kiln.commands.{request.command}").main(request)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def main(words=None):
    """Runs the command line and returns the exit code. Without words this is the program `kiln`, and may choose what
    signals do."""
    from kiln import _native

    if words is None:
        _native.become_program()
    done = _native.cli(sys.argv[1:] if words is None else list(words))
    return done if isinstance(done, int) else _python(done)


if __name__ == "__main__":
    sys.exit(main())
