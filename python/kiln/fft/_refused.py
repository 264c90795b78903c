"""What is raised for wrong arguments: those who catch the kind of NumPy and SciPy, of torch or of trnfft get it."""


class Invalid(ValueError, RuntimeError):
    """A wrong value; torch has a RuntimeError for it."""


class Refused(Invalid, AssertionError):
    """One for which trnfft has an assertion."""


class WrongKind(TypeError, Refused):
    """Numbers of a kind that a function does not take; NumPy and SciPy have a TypeError for it."""
