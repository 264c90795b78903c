"""The command `kiln`, also as `python -m kiln`: text programs go to the native commands, Python runs here."""

import os
import signal
import sys

# Commands that take a kernel in Python, and the module that has `main(words)` for each.
_FOR_PYTHON = {"check": "kiln.commands.check", "run": "kiln.commands.run", "time": "kiln.commands.time",
               "profile": "kiln.commands.time"}

_OUR_LABELS = ("language.", "nki.")  # rules that only the package knows


def _is_script(word):
    return word.endswith(".py")


def _native(words):
    """A command of the C++ program, in this process; Ctrl-C ends it at once, as it would end that program."""
    from kiln import _kiln

    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return _kiln.cli(words)
    finally:
        signal.signal(signal.SIGINT, before)


def _python(module, words):
    import importlib

    try:
        code = importlib.import_module(module).main(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def main(words=None):
    """Runs the command line and returns the exit code."""
    words = sys.argv[1:] if words is None else list(words)
    if words and (_is_script(words[0]) or words[0] == "-m"):
        words.insert(0, "run")
    if words and words[0] in _FOR_PYTHON and any(_is_script(w) or w == "-m" for w in words[1:]):
        return _python(_FOR_PYTHON[words[0]], words[1:])
    if len(words) == 2 and words[0] == "explain" and words[1].startswith(_OUR_LABELS):
        return _python("kiln.commands.explain", words[1:])
    return _native(words)


if __name__ == "__main__":
    sys.exit(main())
