"""The commands of the C++ program, in this process."""

import signal
import sys

from kiln import _kiln


def cli(words, trace=None):
    """_kiln.cli, which Ctrl-C ends at once, as it would end that program."""
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return _kiln.cli(words, trace)
    finally:
        signal.signal(signal.SIGINT, before)
