"""A plugin of pytest: writes the distinct diagnostics and warnings of each test to the file that REPLAY_OUT names."""

import json
import os

import kiln

_told = {}  # name of the test -> {text: None}
_running = []
_make_error, _make_warning = kiln.NkiValidationError.__init__, kiln.nki.NkiWarning.__init__


def _note(title, text):
    _told.setdefault(title, {})[text] = None


def _noted_error(error, diagnostics=(), *args, **kwargs):
    if _running and not isinstance(diagnostics, str):  # text: one that was pickled, noted when it was raised
        for diagnostic in diagnostics:
            _note(_running[-1], str(diagnostic))
    _make_error(error, diagnostics, *args, **kwargs)


def _noted_warning(warning, *args):
    if _running:
        _note(_running[-1], "warning: " + " ".join(map(str, args)))
    _make_warning(warning, *args)


kiln.NkiValidationError.__init__ = _noted_error
kiln.nki.NkiWarning.__init__ = _noted_warning


def _title(nodeid):
    return nodeid.partition("::")[2]


def pytest_runtest_setup(item):
    _running[:] = [_title(item.nodeid)]


def pytest_runtest_logreport(report):
    if report.failed:
        _note(_title(report.nodeid), "the test fails")


def pytest_sessionfinish():
    with open(os.environ["REPLAY_OUT"], "w") as file:
        json.dump({title: list(texts) for title, texts in _told.items()}, file)
