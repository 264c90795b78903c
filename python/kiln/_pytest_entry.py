"""What every pytest loads once Kiln is installed: the ini option `kiln_activate`, which is off."""

import pytest


def pytest_addoption(parser):
    parser.addini("kiln_activate", "`import nki` gives kiln.nki, as with -p kiln", type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    if early_config.getini("kiln_activate"):
        from kiln import _activate

        _activate.activate()
