"""nki.api_version, and KILN_NKI_VERSION of the environment: which NKI the package behaves like."""

import os

from kiln._trace import rules, version as _chosen
from kiln._trace.errors import refuse


def _check(version, where):
    if version not in _chosen.KNOWN:
        refuse(rules.KNOWN_VERSION, f"{where} {version!r}", versions=", ".join(_chosen.KNOWN))


def api_version(version=None):
    """The version that the package behaves like; with an argument, e.g. "0.3.0", chooses it for the whole process."""
    if version is not None:
        _check(version, "api_version of")
        _chosen.choose(version)
    return _chosen.current()


def use_environment():
    """Takes the version from KILN_NKI_VERSION when it is set."""
    version = os.environ.get("KILN_NKI_VERSION", "").strip()
    if version:
        _check(version, "KILN_NKI_VERSION is")
        api_version(version)
