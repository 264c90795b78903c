"""Every case of every .test file below tests/ is one test. docs/test-files.md describes the files."""

import functools

import pytest

import runner
from case_file import TEST_FILES, read


@functools.cache
def results(path):
    return runner.run_cases(read(path)[0])


@pytest.mark.parametrize("path", TEST_FILES, ids=lambda p: p.name)
def test_file_is_well_formed(path):
    cases, error = read(path)
    assert error is None, str(error)
    assert cases, f"{path.name} has no cases"


CASES = [pytest.param(case, id=f"{path.stem}::{case.title}") for path in TEST_FILES for case in read(path)[0]]


@pytest.mark.parametrize("case", CASES)
def test_case(case):
    problem = runner.judge(results(case.path)[case.title])
    if problem:
        where = f"{case.path.name}:{case.line}: {case.kind} {case.title} (KILN_SEED={runner.SEED})"
        pytest.fail(f"{where}\n{problem}\n\n{case.text()}", pytrace=False)
