"""What is raised where trnfft has an assertion: those who catch either kind get it."""


class Refused(ValueError, AssertionError):
    """A wrong value."""
