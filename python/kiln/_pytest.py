"""`pytest -p kiln`: `import nki` gives kiln.nki in tests and their conftest files."""

import pytest

from kiln import _activate


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    _activate.activate()
