"""Which function checks which rule."""

from dataclasses import dataclass, field

from .rules import BY_NAME, RULES


@dataclass(frozen=True)
class Hit:
    """A place that breaks a rule, and the words of its message."""

    node: object
    words: dict = field(default_factory=dict)


CHECKS = {}  # rule name -> (node types, check(scope, node) that yields hits), for kernel code
MODULE_CHECKS = {}  # rule name -> check(module, reach) that yields hits, for the whole file, host code included
REACHED_CHECKS = {}  # the same, for every file with kernel code


def check(rule, *types):
    """Registers a check of nodes of kernel code."""

    def register(function):
        assert rule in BY_NAME and rule not in CHECKS, rule
        CHECKS[rule] = (types, function)
        return function

    return register


def module_check(rule, reached=False):
    """Registers a check of a whole file; `reached`: of all files with kernel code, not only the one that is given."""
    checks = REACHED_CHECKS if reached else MODULE_CHECKS

    def register(function):
        assert rule in BY_NAME and rule not in checks, rule
        checks[rule] = function
        return function

    return register


def hit(node, **words):
    return Hit(node, words)


def _by_syntax(scope, node):
    yield Hit(node)


for _rule in RULES:
    if _rule.nodes:
        CHECKS[_rule.name] = (_rule.nodes, _by_syntax)
