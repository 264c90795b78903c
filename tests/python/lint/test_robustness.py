"""Any valid Python: the lint does not crash, whatever is called a kernel, and says the same twice."""

import ast
import os
import pathlib
import random
import sysconfig

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from case_file import cases
from kiln import lint
from kiln.lint.rules import RULES

LIBRARY = sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
SEED = int(os.environ["KILN_SEED"])
SAMPLE = random.Random(SEED).sample(LIBRARY, 25)
LABELS = {rule.label for rule in RULES}


def all_functions(text):
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.name)
def test_standard_library(path):
    """Every function is taken for a kernel."""
    text = path.read_text(encoding="utf-8")
    names = all_functions(text)
    findings = lint.check_source(text, str(path), names)
    assert findings == lint.check_source(text, str(path), names), f"seed {SEED}"
    lines = text.splitlines()
    for finding in findings:
        assert finding.rule in LABELS, f"seed {SEED}"
        assert finding.line == 0 or 1 <= finding.line <= len(lines), f"seed {SEED}"
        assert str(finding)


@pytest.mark.parametrize("path", SAMPLE, ids=lambda path: path.name)
def test_standard_library_has_no_kernels(path):
    assert lint.check_file(path) == [], f"seed {SEED}"


SOURCES = [case.source for case in cases()]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SOURCES), st.randoms(use_true_random=False))
def test_broken_sources(source, rng):
    """Lines and characters dropped, doubled and swapped: a finding or none, never an exception."""
    lines = source.splitlines(keepends=True)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(lines))
        action = rng.randrange(4)
        if action == 0:
            lines.pop(at)
        elif action == 1:
            lines.insert(at, lines[rng.randrange(len(lines))])
        elif action == 2:
            place = rng.randrange(len(lines[at]) or 1)
            lines[at] = lines[at][:place] + lines[at][place + 1 :]
        else:
            place = rng.randrange(len(lines[at]) or 1)
            lines[at] = lines[at][:place] + rng.choice("()[]{}:,*@=.'\"\\\n\t") + lines[at][place:]
        if not lines:
            return
    for finding in lint.check_source("".join(lines), "k.py"):
        assert finding.rule in LABELS and str(finding)


NAMES = st.sampled_from(["a", "b", "x", "nl.add", "nisa.tensor_copy", "nl", "r", "items", "len", "self.y", "a.shape"])
ATOMS = st.one_of(NAMES, st.integers(-(2**40), 2**40).map(str),
                  st.sampled_from(["None", "...", "'s'", "()", "[]", "{}"]))
EXPRESSIONS = st.recursive(ATOMS, lambda inner: st.one_of(
    st.tuples(inner, st.sampled_from(["+", "@", "<", "is", "in", "and", "**", "if x else"]), inner)
    .map(" ".join).map("({})".format),
    st.lists(inner, max_size=3).map(lambda parts: f"nl.load({', '.join(parts)})"),
    st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
    st.tuples(inner, inner).map(lambda pair: f"({pair[0]})[{pair[1]}]"),
    inner.map("f'{{({})!r}}'".format).filter(lambda text: text.count("'") == 2),
    inner.map("lambda q: {}".format).map("({})".format),
    inner.map("[{} for q in x]".format)), max_leaves=8)  # fmt: skip


@settings(max_examples=300, deadline=None)
@example(["(nl.load() + (a is a))"])
@given(st.lists(EXPRESSIONS, min_size=1, max_size=6))
def test_random_expressions(expressions):
    body = "".join(f"    v{number} = {code}\n    a = v{number}\n" for number, code in enumerate(expressions))
    text = ("import nki, nki.language as nl, nki.isa as nisa\n@nki.jit\ndef f(self, x, items):\n"
            f"    b = nl.load(x)\n{body}")
    ast.parse(text)
    for finding in lint.check_source(text, "k.py"):
        assert finding.rule != "language.R2" and str(finding)
