"""Which NKI the package behaves like: the newest, unless kiln.nki.api_version chooses an older one."""

from kiln import _kiln

_OLDEST, _NEWEST = _kiln.nki_versions
KNOWN = tuple(f"0.{minor}.0" for minor in range(_OLDEST, _NEWEST + 1))

_current = KNOWN[-1]


def current():
    """The version that the package behaves like."""
    return _current


def choose(version):
    """Makes the package behave like a known version, in the whole process."""
    global _current
    _current = version


def at_least(version):
    """Whether the package behaves like this version or a newer one."""
    return _current >= version


def minor():
    """n of the version 0.n.0 that the package behaves like."""
    return int(_current.split(".")[1])
