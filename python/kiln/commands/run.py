"""`kiln run script.py args...`: a Python script with `import nki` giving kiln.nki."""

import argparse
import os
import runpy
import sys
import traceback

from kiln import _activate
from kiln._trace import tracebacks
from kiln.commands import target


def _parser():
    parser = argparse.ArgumentParser(
        prog="kiln run", description="run a Python script; `import nki` gives kiln.nki",
        epilog="Text programs (.kiln) have other options: kiln run --help.")
    target.add_option(parser)
    parser.add_argument("-m", dest="module", action="store_true", help="the script is a module, as for python -m")
    parser.add_argument("script", help="a .py file, or a module after -m")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="what the script finds in sys.argv[1:]")
    return parser


def _execute(options):
    launched_from = ("", os.getcwd(), os.path.dirname(os.path.abspath(sys.argv[0])))
    if sys.path and sys.path[0] in launched_from:
        del sys.path[0]  # as python would have it: the script's folder stands first, not ours
    sys.argv = [options.script, *options.args]
    if options.module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
        runpy.run_path(options.script, run_name="__main__")


def _show(error):
    """The error as Python shows it, from the script's own frames on."""
    trimmed = tracebacks.without_our_frames(error.__traceback__)
    traceback.print_exception(type(error), error, trimmed)


def main(words):
    """Runs the script and returns the exit code."""
    options = _parser().parse_args(words)
    if not options.module and not os.path.isfile(options.script):
        print(f"kiln run: there is no file {options.script}", file=sys.stderr)
        return 2
    target.use(options)
    _activate.activate()
    try:
        _execute(options)
    except SystemExit:
        raise
    except KeyboardInterrupt as error:
        _show(error)
        return 130
    except BaseException as error:
        _show(error)
        return 1
    return 0
