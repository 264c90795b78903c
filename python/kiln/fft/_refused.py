"""What is raised where trnfft has an assertion: those who catch either kind get it."""


class Refused(ValueError, AssertionError):
    """A wrong value."""


class WrongKind(TypeError, Refused):
    """Numbers of a kind that a function does not take; NumPy and SciPy have a TypeError for it."""
