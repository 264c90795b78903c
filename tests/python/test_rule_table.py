"""The rules of kiln.nki: one table, walked; what raises them names them."""

import ast
import os
import pathlib
import re
import string

import pytest

import kiln
from kiln import _kiln
from kiln._trace import rules

PACKAGE = pathlib.Path(kiln.__file__).resolve().parent  # a build tree holds links to it
SOURCES = pathlib.Path(os.environ["KILN_SOURCE_DIR"])
LABEL = re.compile(r"\bnki\.R(\d+)")
NAMES = {name: rule for name, rule in vars(rules).items() if isinstance(rule, rules.Rule)}
NOT_GIVEN = {39, 58, 60, 61}  # numbers that no rule has: the last three became rules of the collectives themselves
RAISERS = {"refuse", "broken"}
PAGES = ["CHANGELOG.md", "README.md", *(f"docs/{page.name}" for page in sorted((SOURCES / "docs").glob("*.md")))]


TREES = {file.relative_to(PACKAGE): ast.parse(file.read_text()) for file in sorted(PACKAGE.rglob("*.py"))}


def name_of(node):
    """X of rules.X; None for other syntax."""
    is_row = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "rules"
    return node.attr if is_row and node.attr.isupper() else None


def named():
    """The rules that package code names, those of the lint aside."""
    ours = [tree for file, tree in TREES.items() if file.parts[0] != "lint"]
    return {name_of(node) for tree in ours for node in ast.walk(tree)} - {None}


def raises():
    """Each call that refuses by the name of a rule: (place, rule, call)."""
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in RAISERS and name_of(node.args[0]):
                yield f"{file}:{node.lineno}", NAMES[name_of(node.args[0])], node


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_is_one_sentence_and_a_remedy(name):
    rule = NAMES[name]
    for text in (rule.text, rule.help):
        assert text and text == text.strip() and not text.endswith(".") and "\n" not in text
    assert ". " not in rule.text
    assert rule.category in {"invalid", "config", "not_yet"}


def test_every_row_is_in_the_table_and_numbers_ascend():
    assert tuple(NAMES.values()) == rules.RULES
    numbers = [rule.number for rule in rules.RULES]
    assert numbers == sorted(set(numbers))


def test_labels_of_both_halves_are_consecutive():
    labels = {*_kiln.rules(), *(rule.label for rule in rules.RULES)}
    numbers = {int(LABEL.fullmatch(label)[1]) for label in labels}
    assert numbers == set(range(max(numbers) + 1)) - NOT_GIVEN


def test_no_sentence_stands_twice():
    sentences = [*_kiln.rules().values(), *(rule.text for rule in rules.RULES if rule.label not in _kiln.rules())]
    assert len(sentences) == len(set(sentences))


def test_every_rule_is_raised_and_every_name_is_a_rule():
    assert named() == set(NAMES)


def test_no_label_is_written_outside_the_table():
    written = [f"{file}:{node.lineno}" for file, tree in TREES.items() for node in ast.walk(tree)
               if isinstance(node, ast.Constant) and isinstance(node.value, str) and LABEL.search(node.value)]
    assert not written, f"name the rule: {', '.join(written)}"


def test_a_refusal_gives_the_words_of_the_remedy_or_another_one():
    found = list(raises())
    assert len(found) > 100
    for place, rule, call in found:
        words = {word for _, word, _, _ in string.Formatter().parse(rule.help) if word}
        given = {keyword.arg for keyword in call.keywords} - {"at"}
        if len(call.args) == 2:  # the rule and what was found
            assert given == words, f"{place}: the remedy of {rule.label} takes {sorted(words)}"


@pytest.mark.parametrize("page", PAGES)
def test_labels_on_pages_exist(page):
    for number in LABEL.findall((SOURCES / page).read_text()):
        assert rules.explain(f"nki.R{number}"), f"{page} has nki.R{number}"
