"""The functions under their names; those that are also operators are called through their token."""

import inspect

from kiln.nki.language import (
    _activations, _composite, _division, _elementwise, _movement, _reductions, _rounding, _trigonometry)
from kiln.nki.language._tokens import instruction_tokens, token

_ELEMENTWISE = {name: function for module in (_elementwise, _activations, _trigonometry, _rounding, _division)
                for name, function in module.FUNCTIONS.items()}
_FUNCTIONS = {**_ELEMENTWISE, **_reductions.FUNCTIONS,
              **{name: getattr(module, name) for module in (_movement, _composite) for name in module.__all__}}


def _public(name):
    """The token of an operator with its function, or the plain function."""
    function = _FUNCTIONS.get(name)
    if name not in _TOKENS:
        return function
    op = token(name)
    if function is not None:
        op.function = op.__wrapped__ = function
        op.__doc__ = function.__doc__
    else:
        op.__signature__ = _ANY
    return op


_ANY = inspect.signature(lambda *args, **kwargs: None)  # of a token that is no function: a call is refused
_TOKENS = {*instruction_tokens(), *_ELEMENTWISE}
_NAMES = sorted({*_TOKENS, *_FUNCTIONS})
globals().update({name: _public(name) for name in _NAMES})
__all__ = _NAMES  # noqa: PLE0605  (ruff does not run code)
