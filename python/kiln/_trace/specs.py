"""Arguments of a kernel without values: `float32[128,512]` for a tensor, Python literals for the rest."""

import ast
import inspect
import re

import numpy as np

from kiln._trace import arrays, dtypes, rules
from kiln._trace.annotations import Annotation
from kiln._trace.errors import refuse

_TENSOR = re.compile(r"(\w+)\s*\[([\d,\s]*)\]")
_WORD = re.compile(r"[A-Za-z_][\w.:/+-]*")


class Spec:
    """Shape and dtype of a tensor argument."""

    def __init__(self, shape, dtype="float32"):
        name = {"bool": "bool_"}.get(str(dtype), str(dtype))
        if name not in dtypes.ALL:
            refuse(rules.SPEC_DTYPE, f"`{name}`", dtypes=", ".join(dtypes.ALL))
        self.shape, self.dtype = tuple(int(n) for n in shape), dtypes.ALL[name]
        if not self.shape or min(self.shape) < 1:
            refuse(rules.SPEC_SHAPE, f"{self}")

    def __repr__(self):
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    def __eq__(self, other):
        return isinstance(other, Spec) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self):
        return hash((self.shape, self.dtype))


class Valueless:
    """An argument of which only shape and dtype are known. Kernels are traced with it; there is nothing to run on."""

    def __init__(self, spec, name):
        self.value, self.shape, self.dtype, self._name = spec, spec.shape, spec.dtype, name

    @property
    def array(self):
        refuse(rules.ARGUMENT_VALUES, f"`{self._name}` is the shape {self.value}", "pass an array")


def parse(text):
    """`float32[128,512]` as a Spec; a Python literal or the name of a dtype as itself; a word as the string it is."""
    match = _TENSOR.fullmatch(text.strip())
    if match:
        return Spec([n for n in match[2].replace(" ", "").split(",") if n], match[1])
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        if not _WORD.fullmatch(text):
            refuse(rules.ARGUMENT_TEXT, f"`{text}` cannot be read")
        return dtypes.ALL.get(text.removeprefix("nl."), text)


def of_value(value):
    """The Spec of an array; strings of the form float32[128,512] as well; other values as they are."""
    if isinstance(value, str) and _TENSOR.fullmatch(value.strip()):
        return parse(value)
    if isinstance(value, Annotation) and value.shape:
        return Spec(value.shape)
    if arrays.is_array(value):
        dtype = value.dtype
        return Spec(value.shape, str(dtype).removeprefix("torch.") if arrays.is_torch(value) else np.dtype(dtype).name)
    return value


def from_annotations(function, dtype="float32"):
    """Parameter -> Spec, for those annotated with nt.tensor[shape]."""
    try:
        parameters = inspect.signature(function, eval_str=True).parameters
    except (NameError, TypeError, ValueError):
        return {}
    return {name: Spec(p.annotation.shape, dtype) for name, p in parameters.items()
            if isinstance(p.annotation, Annotation) and p.annotation.shape}


def has_shape(value):
    """Whether a Spec is in the value or in the containers that it consists of."""
    if isinstance(value, (tuple, list)):
        return any(map(has_shape, value))
    if isinstance(value, dict):
        return any(map(has_shape, value.values()))
    return isinstance(value, Spec)


def missing(function, given):
    """Parameters that have neither a value nor a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.default is p.empty and p.name not in given
            and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
