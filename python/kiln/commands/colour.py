"""Whether what a command prints has colours."""

from kiln import _kiln


def wanted(stream):
    """For text to this stream; none for one without a file behind it, as in a notebook."""
    try:
        return _kiln.wants_colour(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return False
