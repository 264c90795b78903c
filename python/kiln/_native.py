"""The commands of the C++ program, in this process."""

import signal
import sys

from kiln import _kiln


_is_program = False


def become_program():
    """This process is the program `kiln`: a signal that ends it removes files that are not complete. What signals do in
    other hosts is theirs to say."""
    global _is_program
    _is_program = True
    _kiln.tidy_on_signals()


def cli(words, trace=None):
    """_kiln.cli, which Ctrl-C ends at once, as it would end that program."""
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    if _is_program:
        _kiln.tidy_on_signals()
    try:
        return _kiln.cli(words, trace)
    finally:
        signal.signal(signal.SIGINT, before)
