"""Every rule at the exact line, and near misses of every rule; cases/*.lint."""

import pytest

from case_file import cases
from kiln import lint
from kiln.lint.registry import CHECKS, MODULE_CHECKS, REACHED_CHECKS
from kiln.lint.rules import BY_LABEL, BY_NAME, RULES

OF_FILES = {"unreadable", "syntax", "no_kernel"}  # test_files.py


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_case(case):
    findings = lint.check_source(case.source, "kernel.py", **case.options)
    found = {(finding.line, BY_LABEL[finding.rule].name) for finding in findings}
    assert found == case.expected
    assert not found & case.near_misses


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_every_finding_can_be_read(case):
    for finding in lint.check_source(case.source, "kernel.py", **case.options):
        rule = BY_LABEL[finding.rule]
        assert finding.message and finding.help
        assert finding.source == case.source.splitlines()[finding.line - 1]
        assert 1 <= finding.column < finding.end_column <= len(finding.source) + 1
        assert finding.profiles and finding.severity == rule.severity(finding.profiles)


@pytest.mark.parametrize("profile", lint.PROFILES)
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_one_profile_alone(case, profile):
    findings = lint.check_source(case.source, "kernel.py", profiles=[profile], **case.options)
    found = {(finding.line, BY_LABEL[finding.rule].name) for finding in findings}
    assert found == {(line, name) for line, name in case.expected if getattr(BY_NAME[name], profile)}
    assert all(finding.profiles == (profile,) for finding in findings)


def test_every_rule_has_a_case_and_a_near_miss():
    everything = cases(all_versions=True)
    names = {rule.name for rule in RULES} - OF_FILES
    assert {name for case in everything for _, name in case.expected} == names
    assert {name for case in everything for _, name in case.near_misses} == names


def test_every_rule_has_a_check():
    by_python = {"type_alias"} - set(CHECKS)  # syntax that this Python may not have
    assert {*CHECKS, *MODULE_CHECKS, *REACHED_CHECKS} | OF_FILES | by_python == {rule.name for rule in RULES}


def test_labels_and_names_are_unique():
    assert len(BY_LABEL) == len(BY_NAME) == len(RULES)
    assert [rule.number for rule in RULES] == sorted(rule.number for rule in RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_is_complete(rule):
    assert rule.title and rule.found and rule.help
    assert {rule.parser, rule.tracer} <= {"error", "warning", ""} and (rule.parser or rule.tracer)
    assert rule.evidence in ("documented", "observed")
    assert rule.label in lint.explain(rule.label)


def test_explain():
    assert lint.explain("language.R10").splitlines() == [
        "language.R10: no function is defined inside a kernel or a function that it calls",
        "  help: move `{name}` to module level{captured}",
        "  allowed: the tracer takes inner functions since 0.6.0",
        "  basis: observed",
        "  applies to: parser (error); NKI from 0.2.0",
    ]
    assert lint.explain("nc_matmul.R3") is None
