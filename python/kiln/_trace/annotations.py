"""Annotations of kernel parameters, from which shapes are read; nki.typing has the two that there are."""


class Annotation:
    """tensor[shape] or mutable_tensor[shape]."""

    def __init__(self, name, shape=None):
        self.name, self.shape = name, shape

    def __getitem__(self, shape):
        return Annotation(self.name, shape if isinstance(shape, tuple) else (shape,))

    def __call__(self, *args, **kwargs):
        raise TypeError(f"nki.typing.{self.name} is an annotation, not a function")

    def __or__(self, other):
        return self

    __ror__ = __or__

    def __repr__(self):
        return f"nki.typing.{self.name}" + (f"[{', '.join(map(str, self.shape))}]" if self.shape else "")
