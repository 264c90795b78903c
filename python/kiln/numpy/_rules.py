"""The rules of functions that `kiln.jit` compiles, `numpy.R…`: one row each. A number, once given, stays."""

from dataclasses import dataclass

from kiln import _kiln
from kiln._trace.errors import NkiConfigError, NkiNotYetError, NkiValidationError


@dataclass(frozen=True)
class Rule:
    number: int
    text: str
    help: str
    category: str = "invalid"

    @property
    def label(self):
        return f"numpy.R{self.number}"


WIDE = Rule(1, "arrays have a dtype that the chip computes with: bool, integers and floats of at most 32 bits",
            'convert it, e.g. x.astype(np.float32), or jit with x64="narrow"', "config")
BRANCH = Rule(2, "Python decides nothing by a value that is known at run time alone",
              "compute both and choose with np.where(condition, a, b), or use kiln.cond, kiln.fori_loop or "
              "kiln.while_loop; Python's max, min and sorted are np.max, np.min and np.sort")
CONCRETE = Rule(3, "a value that is known at run time alone is no Python number and no NumPy array",
                "stay with NumPy functions and operators on it; make arrays with np.zeros, np.stack or np.array")
MISSING = Rule(
    4,
    "functions of NumPy that kiln.numpy has",
    "docs/numpy.md lists what is there and what to write instead",
    "not_yet",
)
ARGUMENT = Rule(
    5,
    "an argument of a NumPy function is honoured or refused",
    "leave it out, or write it with other functions",
    "not_yet",
)
DYNAMIC_SHAPE = Rule(6, "shapes are known before the program runs",
                     "use np.where(mask, x, 0) and reduce with where=mask, or pass the indices as an argument")
INDEX = Rule(7, "indices are integers, slices, None, Ellipsis, arrays of integers or of bool",
             "correct the index")
RESULT = Rule(8, "a function returns arrays, numbers, None, or tuples, lists and dicts of them", "return arrays")
READ_ONLY = Rule(9, "a view that repeats elements is not written", "copy it first: x.copy()")
PRECISION = Rule(10, "NumPy would compute this in 64 bits, and 32 do not hold it",
                 "cast an operand to the dtype that is wanted")
OPTIONS = Rule(11, "options of kiln.jit", "correct it", "config")
OVERLAP = Rule(12, "arguments that the function writes to share no memory with others", "copy one of them", "config")
ARGUMENTS = Rule(13, "arguments are arrays, Python values, or tuples, lists and dicts of them",
                 "convert it with np.asarray", "config")
UNDEFINED = Rule(14, "every element of a result is defined", "give `out` with the values of the elements left out")
CASTING = Rule(15, "results are cast as NumPy's rule `same_kind` allows", "cast with astype")
BACKEND = Rule(16, "the backend is there", "choose another backend", "config")
FILE_FUNCTION = Rule(17, "FILE.py:FUNCTION names a function of the file, and --arg every argument without a default",
                     "correct the command line", "config")

OUTSIDE = Rule(18, "the body of a loop or branch writes to what it made, and returns its state",
               "carry the array: take it as state, write to it, return it")

KERNEL = Rule(19, "call_kernel takes a kernel for one core that returns whole tensors or writes to its arguments",
              "call it between two jitted functions", "not_yet")

ON_RANKS = Rule(20, "functions of ranks stand in a function that runs on ranks", "jit it with ranks=n", "config")
RANK_GROUPS = Rule(21, "groups are lists of ranks, and each rank stands in one of them",
                   "list every rank once, from 0 on", "config")

RULES = tuple(value for value in globals().values() if isinstance(value, Rule))

_made = {}


def _class(category, kind):
    base = {"not_yet": NkiNotYetError, "config": NkiConfigError}.get(category, NkiValidationError)
    if kind is None or issubclass(base, kind):
        return base
    key = base, kind
    if key not in _made:
        _made[key] = type(base.__name__, (base, kind), {"__module__": "kiln"})
    return _made[key]


def refuse(rule, found, help="", kind=None, place=None):
    """Raises the exception for a broken rule at the user's line, or at (file, line); `kind` is the exception that NumPy
    would raise."""
    from kiln.numpy._trace import user_place

    file, line = ("", 0) if rule is FILE_FUNCTION else place or user_place()
    said = _kiln.diagnostic(rule.category, rule.label, rule.text, found, help or rule.help, file=file, line=line)
    raise _class(rule.category, kind)([said])


def as_value_error(error):
    """An error of the compiler about shapes, as the ValueError that NumPy raises."""
    return error if type(error) is not NkiValidationError else _class("invalid", ValueError)(error.diagnostics)


def explain(label):
    """What a label means; None for a label that is not ours."""
    for rule in RULES:
        if rule.label == label:
            return f"{label}: {rule.text}\n  of functions that kiln.jit compiles\n  remedy: {rule.help}"
    return None
