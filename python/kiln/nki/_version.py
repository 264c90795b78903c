"""Which NKI the package behaves like: the newest, unless kiln.nki.api_version or KILN_NKI_VERSION says an older one."""

import os

from kiln._errors import refuse

KNOWN = ("0.3.0", "0.4.0", "0.5.0", "0.6.0")

_current = KNOWN[-1]


def _check(version, where):
    if version not in KNOWN:
        refuse("nki.R46", "the versions of NKI that Kiln can behave like are listed", f"{where} {version!r}",
               f"choose one of {', '.join(KNOWN)}", category="config")


def api_version(version=None):
    """The version that the package behaves like; with an argument, e.g. "0.3.0", chooses it for the whole process."""
    global _current
    if version is not None:
        _check(version, "api_version of")
        changed, _current = _current != version, version
        if changed:
            from kiln.nki import _switch

            _switch.show(version)
    return _current


def at_least(version):
    """Whether the package behaves like this version or a newer one."""
    return _current >= version


def minor():
    """n of the version 0.n.0 that the package behaves like."""
    return int(_current.split(".")[1])


def use_environment():
    """Takes the version from KILN_NKI_VERSION when it is set."""
    version = os.environ.get("KILN_NKI_VERSION", "").strip()
    if version:
        _check(version, "KILN_NKI_VERSION is")
        api_version(version)
