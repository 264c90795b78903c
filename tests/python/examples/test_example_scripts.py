"""Every example has a main that runs it and prints how far it is from NumPy, and is Python that the device takes."""

import importlib
import pathlib

import pytest

from kiln import lint

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "examples" / "nki"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "tiles")


@pytest.mark.parametrize("name", SCRIPTS)
def test_main(monkeypatch, capsys, name):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn3")
    module = importlib.import_module(name)
    assert module.__doc__
    module.main()
    assert capsys.readouterr().out.count("\n") >= 1


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_language_lint_finds_nothing(name):
    assert not lint.check_file(str(FOLDER / f"{name}.py"))
