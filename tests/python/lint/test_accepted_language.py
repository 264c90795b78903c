"""The table of the accepted language, row by row: what a front end refuses is reported, its remedy is not."""

import pytest

from kiln import lint

HEAD = """\
import math, os
import numpy as np
from dataclasses import dataclass
from enum import Enum
import nki, nki.language as nl, nki.isa as nisa

SIZE = 4
"""

# (construct, rule, kernel code that breaks it, kernel code that does not). The code is the body of a kernel of tensor
# x, int n, list items, dict table, str s; a part before `---` stands at module level.
ROWS = (
    ("inner def", "inner_def", "def f(a):\n    return a\nn = f(n)", "def f(a):\n    return a\n---\nn = f(n)"),
    ("inner class", "inner_class", "class A(nl.NKIObject):\n    pass",
     "class A(nl.NKIObject):\n    pass\n---\na = A()"),
    ("lambda", "lambda", "f = lambda a: a", "f = min\nn = f(n, 1)"),
    ("list comprehension", "comprehension", "a = [i for i in items]", "a = []\nfor i in items:\n    a.append(i)"),
    ("dict comprehension", "comprehension", "a = {str(i): i for i in items}", "a = {}\na[s] = n"),
    ("set comprehension", "comprehension", "a = {i for i in items}", "a = (1, 2)"),
    ("generator expression", "comprehension", "a = max((i for i in items))", "a = max(items)"),
    ("set literal", "set_literal", "a = {1, 2}", "a = (1, 2)"),
    ("walrus", "walrus", "if (m := n) > 1:\n    pass", "m = n\nif m > 1:\n    pass"),
    ("yield", "yield", "yield n", "items.append(n)"),
    ("tuple target of a loop", "loop_target", "for a, b in items:\n    pass", "for p in items:\n    a = p[0]"),
    ("for else", "loop_else", "for i in range(n):\n    pass\nelse:\n    pass", "for i in range(n):\n    break"),
    ("while else", "loop_else", "while n > 1:\n    n -= 1\nelse:\n    pass", "while n > 1:\n    n -= 1"),
    ("subscripts in a tuple assignment", "subscript_target", "items[0], items[1] = f()",
     "a, b = f()\nitems[0] = a\nitems[1] = b"),
    ("item of a list", "tensor_item", "x[0:1] = n", "items[0] = n\ntable['a'] = n"),
    ("nested targets and chains", "several_mutations", "items[0] = table['a'] = n", "a, (b, c) = 1, (2, 3)\nd = e = n"),
    ("augmented assignment", "tensor_arithmetic", "x[0:1] += 1", "n += 1\nitems[0] = items[0] + 1"),
    ("annotated assignment", "bare_annotation", "table.a: int", "m: int = n\nk: int"),
    ("*args", "varargs", "def f(*a):\n    return a\n---\nf(n)", "def f(a):\n    return a\n---\nf((n,))"),
    ("f(*t)", "star_expression", "m = min(*items)", "m = min(items)"),
    ("[*t]", "star_expression", "m = [*items]", "m = list(items)"),
    ("**kw", "kwargs", "def f(a, **k):\n    return a\n---\nf(n)", "def f(a, k=None):\n    return a\n---\nf(n, k=2)"),
    ("f(**d)", "keyword_expansion", "def f(a):\n    return a\n---\nf(**table)", "def f(a):\n    return a\n---\nf(a=n)"),
    ("keyword-only", "keyword_only", "def f(a, *, b):\n    return a\n---\nf(n, b=1)",
     "def f(a, /, b):\n    return a\n---\nf(n, b=1)"),
    ("defaults from globals", "mutable_global",
     "COUNT = 0\ndef bump():\n    global COUNT\n    COUNT += 1\n---\nm = COUNT",
     "def f(a=SIZE):\n    return a\n---\nm = f()"),
    ("import in the body", "import_in_body", "import math as m", "m = math.pi"),
    ("global", "global_statement", "global SIZE\nSIZE = 3", "m = SIZE"),
    ("del", "del", "del items", "items = None"),
    ("try", "try", "try:\n    pass\nfinally:\n    pass", "if n > 1:\n    pass"),
    ("raise", "raise", "raise ValueError(s)", "assert n > 1, 'n is too small'"),
    ("match", "match", "match n:\n    case 1:\n        pass", "if n == 1:\n    pass\nelif n == 2:\n    pass"),
    ("with", "with_other", "with open(s):\n    pass", "with nl.no_reorder():\n    pass"),
    ("with as", "with_as", "with nl.no_reorder() as w:\n    pass", "with nl.no_reorder():\n    pass"),
    ("message of assert", "assert_message", "assert n, 3", "assert n, f'n is {n}'"),
    ("is", "is_comparison", "m = n is SIZE", "m = n is None or n is not None"),
    ("in a dict", "dict_membership", "d = {'a': 1}\nm = s in d", "m = n in (1, 2) or n in items or s in 'abc'"),
    ("in a chain", "chained_membership", "m = 1 < n in items", "m = 1 < n and n in items"),
    ("chained comparison", "chained_effect", "m = 1 < n < work(n)", "m = 1 < n < 3"),
    ("@", "matmul_operator", "m = x @ x", "m = n * n"),
    ("+ on tensors", "tensor_arithmetic", "t = nl.ndarray((2, 2), nl.float32)\nm = t + t",
     "t = nl.ndarray((2, 2), nl.float32)\nm = t.shape[0] + n"),
    ("operators on scalars", "tensor_arithmetic", "t = nl.ndarray((2, 2), nl.float32)\nm = -t",
     "m = ~n + -n + +n\nk = not n"),
    ("str * int", "str_operation", "m = 'ab' * 2", "m = [1] * 2 + [3]\nk = (1,) + (2,)\nw = 'a' + s"),
    ("subscript of a string", "str_operation", "m = 'ab'[0]", "m = ('a', 'b')[0]"),
    ("format specification", "format_spec", "m = f'{n:.2f}'", "m = f'{n} {n!r} {n!s} {n!a}'"),
    ("large int", "large_int", "m = 4294967296", "m = 2147483647"),
    ("small int", "large_int", "m = -2147483649", "m = -2147483647"),
    ("slice with a negative step", "negative_step", "m = items[::-1]", "m = items[0:2:2]"),
    ("Ellipsis outside an index", "ellipsis_value", "m = ...", "m = x[..., 0:1]"),
    ("pop with an index", "list_method", "a = [1]\na.pop(0)",
     "a = [1]\na.append(2)\na.clear()\na.extend([1])\na.reverse()\na.pop()"),
    ("list.count", "list_method", "a = [1]\nm = a.count(1)", "a = [1]\nm = len(a)"),
    ("list.remove", "list_method", "a = [1]\na.remove(1)", "a = [1]\nb = a.copy()"),
    ("list.index", "list_method", "a = [1]\nm = a.index(1)", "a = [1]\nm = 1 in a"),
    ("list.sort", "list_method", "a = [1]\na.sort()", "a = [1]\na.reverse()"),
    ("list.insert", "list_method", "a = [1]\na.insert(0, 1)", "a = [1]\na = [0] + a"),
    ("dict.update", "dict_method", "a = {'k': 1}\na.update(table)",
     "a = {'k': 1}\na.clear()\nb = a.copy()\na.get('k')\na.items()\na.keys()\n"
     "a.pop('k')\na.setdefault('k', 1)\na.values()"),
    ("iteration over a dict", "dict_iteration", "a = {'k': 1}\nfor k in a:\n    pass",
     "a = {'k': 1}\nfor k in a.keys():\n    pass"),
    ("keys that are no strings", "dict_key", "a = {1: 2}", "a = {'1': 2}"),
    ("str methods", "str_method", "m = 'a'.upper()", "m = 'a' + 'b'"),
    *((f"builtin {name}", "builtin", f"m = {name}(items)", good) for name, good in (
        ("enumerate", "for i in range(len(items)):\n    m = items[i]"), ("zip", "m = abs(n)"), ("sum", "m = bool(n)"),
        ("any", "m = dict()"), ("all", "m = divmod(n, 2)"), ("sorted", "m = float(n)"), ("reversed", "m = int(n)"),
        ("map", "m = isinstance(n, int)"), ("filter", "m = len(items)"), ("round", "m = list(items)"),
        ("pow", "m = max(n, 1)"), ("getattr", "m = min(n, 1)"), ("hasattr", "print(n)"), ("set", "m = slice(0, 2)"),
        ("iter", "m = str(n)"), ("next", "m = tuple(items)"), ("open", "m = type(n)"))),
    ("range as a value", "range_value", "m = list(range(3))", "for i in range(0, 6, 2):\n    pass"),
    ("min of three", "min_max", "m = min(1, 2, n)", "m = min(min(1, 2), n)"),
    ("isinstance of two types", "isinstance_types", "m = isinstance(n, (int, float))",
     "m = isinstance(n, int) or isinstance(s, str)"),
    ("math", "math_function", "m = math.sin(n)",
     "m = math.pi + math.e + math.ceil(n) + math.floor(n) + math.gcd(n, 2) + math.log2(n) + math.log10(n) "
     "+ math.pow(n, 2) + math.sqrt(n)"),
    ("host modules", "host_module", "m = np.zeros(3)", "m = math.ceil(n)"),
    ("range hints", "range_hint", "m = nl.affine_range(4)", "for i in nl.affine_range(4):\n    pass"),
    ("unknown keyword", "unknown_keyword", "nisa.memset(dst=x, valu=0)",
     "nisa.memset(dst=x, value=0, engine=nisa.engine.vector)"),
    ("unknown attribute of a tensor", "tensor_attribute", "t = nl.ndarray((2, 2), nl.float32)\nm = t.T",
     "t = nl.ndarray((2, 2), nl.float32)\nm = t.reshape((2, 2)).view(nl.int32)\n"
     "k = t.dtype, t.shape, t.buffer, t.name"),
    ("register in arithmetic", "register_arithmetic", "r = nisa.register_alloc(1)\nm = r + 1",
     "r = nisa.register_alloc(1)\nm = x.ap(pattern=[[1, 1], [1, 1]], scalar_offset=r)"),
    ("register in range", "register_arithmetic", "r = nisa.register_alloc(1)\nfor i in range(r):\n    pass",
     "r = nisa.register_alloc(1)\nnl.fori_loop(0, r, work)"),
    ("register in if", "register_condition", "r = nisa.register_alloc(1)\nif r:\n    pass",
     "r = nisa.register_alloc(1)\nif r is None:\n    pass"),
    ("while register", "loop_statement", "r = nisa.register_alloc(1)\nwhile r:\n    nisa.register_load(r, x)",
     "r = nisa.register_alloc(1)\nnl.while_loop(r, again)"),
    ("dynamic_range", "loop_statement", "for i in nl.dynamic_range(n):\n    pass", "nl.fori_loop(0, n, work)"),
    ("break in a device loop", "loop_exit", "for i in nl.dynamic_range(n):\n    break",
     "for i in range(n):\n    break"),
    ("device loop in no_reorder", "loop_in_no_reorder", "with nl.no_reorder():\n    nl.fori_loop(0, n, work)",
     "nl.fori_loop(0, n, work)\nwith nl.no_reorder():\n    pass"),
    ("neuronxcc", "neuronxcc", "import neuronxcc.nki.language as old\n---\nm = old.add", "m = nl.add"),
    ("decorators", "decorator", "import functools\n@functools.cache\ndef f(a):\n    return a\n---\nf(n)",
     "@nki.jit\ndef f(a):\n    return a\n---\nf(n)"),
    ("environment", "outside_state", "m = os.environ.get('A')", "m = SIZE"),
    ("None in an index", "tensor_index", "t = nl.ndarray((2, 2), nl.float32)\nm = t[None, 0:1]",
     "t = nl.ndarray((2, 2), nl.float32)\nm = t[0:1, nl.ds(0, 2)]\nk = t[slice(0, 1), ...]"),
    ("list in an index", "tensor_index", "t = nl.ndarray((2, 2), nl.float32)\nm = t[[0, 1]]",
     "t = nl.ndarray((2, 2), nl.float32)\nm = t[0:2]"),
    ("class without NKIObject", "class_base", "class A:\n    pass\n---\na = A()",
     "@dataclass\nclass A(nl.NKIObject):\n    a: int = 1\nclass E(Enum):\n    one = 1\n---\na = A()\nb = E.one"),
    ("output buffer", "output_buffer", "t = nl.ndarray((2, 2), nl.float32, nl.hbm)\nreturn t",
     "t = nl.ndarray((2, 2), nl.float32, buffer=nl.shared_hbm)\nreturn t"),
    ("NumPy dtype", "numpy_dtype", "t = nl.ndarray((2, 2), dtype=np.float32)",
     "t = nl.ndarray((2, 2), dtype=nl.float32)"),
)  # fmt: skip


def source_of(code):
    top, mark, body = code.partition("---\n")
    body = body if mark else top
    lines = [*(top.splitlines() if mark else []), "def work(i):", "    nisa.memset(dst=i, value=0)", "",
             "def again(r):", "    return r", "",
             "@nki.jit", "def kernel(x: nl.ndarray, n, items, table, s):",
             *("    " + line for line in body.splitlines())]
    if "return" not in body and "yield" not in body:
        lines.append("    return x")
    return HEAD + "\n".join(lines) + "\n"


def found(code):
    return [finding for finding in lint.check_source(source_of(code)) if finding.severity in ("error", "warning")]


@pytest.mark.parametrize("construct, rule, bad, good", ROWS, ids=[row[0] for row in ROWS])
def test_what_a_front_end_refuses_is_reported_and_its_remedy_is_not(construct, rule, bad, good):
    label = lint.rules.BY_NAME[rule].label
    reported = found(bad)
    assert label in [finding.rule for finding in reported], reported
    assert all(finding.help for finding in reported)
    left = [finding for finding in found(good) if finding.severity == "error"]
    assert not left, left
