"""`kiln run script.py args...`: a Python script with `import nki` giving kiln.nki."""

import os
import pkgutil  # noqa: F401  (what runpy, the package and NumPy want is here before the script's folder is searched)
import runpy
import sys
import traceback

from kiln import _activate, _kiln
from kiln._trace import env, record, rules, simulate, tracebacks  # noqa: F401
from kiln._trace.errors import NkiValidationError, broken
from kiln._trace.kernel import Kernel
from kiln.commands import colour, other_targets, refusal, target
from kiln.commands.options import Options
from kiln.nki import isa, language, typing  # noqa: F401


class _Watcher(simulate.Watcher):
    """Tells for which chip kernels run, and at the end which of them another chip would refuse."""

    def __init__(self):
        self._seen, self._asked, self._refused = set(), set(), []

    def starts(self, function):
        if not self._seen:
            default = "" if env.is_target_chosen() else f", the default; --target {'|'.join(_kiln.chips)} chooses"
            _say(f"kernels are for {env.target()}{default}")
        self._seen.add(_key(function))

    def traced(self, function, programs, depends_on_chip):
        if env.is_target_chosen() or depends_on_chip or _key(function) in self._asked:
            return
        self._asked.add(_key(function))
        name = getattr(function, "__name__", "kernel")
        for chip, error in other_targets.of_programs(programs).items():
            if error is not None:
                self._refused.append(f"`{name}` would be refused on {chip}: {other_targets.place_of(error)}")

    def close(self, names):
        """The script has ended; `names` is what it defined."""
        for text in dict.fromkeys(self._refused):
            _say(text)
        kernels = [name for name, value in names.items() if isinstance(value, Kernel)]
        if kernels and not self._seen:
            _say(f"warning: no kernel was called, so nothing is checked: call {' or '.join(kernels)} in the script, or "
                 "use kiln check")


def _key(function):
    return getattr(function, "__code__", None)


def _process():
    """Which of the processes this is that mpirun started."""
    return _kiln.process()


def _speak_once():
    """Of several processes that run the same script, the first one speaks; errors and warnings all of them."""
    if _process() != 0:
        sys.stdout = open(os.devnull, "w")


def _say(text):
    if _process() == 0:
        print(f"kiln run: {text}", file=sys.stderr, flush=True)


def _execute(script, module, args):
    """Runs a script, or a module, as python would; returns what it defines."""
    launcher = os.path.realpath(sys.argv[0])
    if os.path.isfile(launcher) and sys.path[:1] == [os.path.dirname(launcher)]:
        del sys.path[0]  # as python would have it: the script's folder stands first, not ours
    sys.argv = [module or script, *args]
    if module:
        sys.path.insert(0, os.getcwd())
        return runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    return runpy.run_path(script, run_name="__main__")


def _show(error):
    """The error as Python shows it, from the script's own frames on."""
    trimmed = tracebacks.without_our_frames(error.__traceback__)
    traceback.print_exception(type(error), error, trimmed)


def _use_threads(count):
    """--threads, as the environment has it."""
    if count == "0":
        os.environ.pop("KILN_THREADS", None)
    elif count:
        os.environ["KILN_THREADS"] = count


def _use_ranks(given):
    """--ranks, as the environment has it."""
    if "ranks" in given:
        os.environ["KILN_RANKS"] = given["ranks"][-1]


def _run_function(path, options):
    """`kiln run file.py:function`: runs it on random arrays, and NumPy beside it."""
    from kiln.commands import numpy_run

    try:
        return numpy_run.run(path, options)
    except NkiValidationError as error:
        return refusal.told(path, error)


def main(request):
    """Runs the script and returns the exit code."""
    given = request.options
    [module], [chip], [threads] = (given.get(name, [""]) for name in ("m", "target", "threads"))
    script, *args = ["", *given.get("FILE", [])] if module else given["FILE"]
    if not module and not script.endswith(".py"):
        _use_ranks(given)
        return _run_function(script, Options(request))
    if not module and not os.path.isfile(script):
        error = broken(rules.KERNEL_FILE, f"there is no file `{script}`")
        print(error.text(colour.wanted(sys.stderr)), file=sys.stderr)
        return 2
    target.use(chip)
    _use_threads(threads)
    for variable, option in (("KILN_MAX_ITERATIONS", "max-passes"), ("KILN_MAX_MEMORY", "max-memory"),
                             ("KILN_NAN", "nan"), ("KILN_LNC", "lnc")):
        if option in given:
            os.environ[variable] = given[option][-1]
    _use_ranks(given)
    try:
        _speak_once()
    except NkiValidationError as error:
        refusal.told("", error)
        return 2
    _activate.activate()
    watcher, names = _Watcher(), {}
    simulate.watch(watcher)
    try:
        names = _execute(script, module, [*args, *request.script_words])
    except SystemExit:
        raise
    except KeyboardInterrupt as error:
        _show(error)
        return 130
    except BaseException as error:
        _show(error)
        return 1
    finally:
        watcher.close(names)
    return 0
