"""What models need and NumPy lacks: activations, softmax and norms, top-k, convolutions, pooling, loops that depend on
the run. All take arrays inside of a jitted function; outside of one they run by themselves."""

import functools

import numpy as np

from kiln.numpy import _control, _dtypes
from kiln.numpy import _ops as ops
from kiln.numpy._array import Array, as_array, node_of
from kiln.numpy._axes import axis_of
from kiln.numpy._rules import ARGUMENT, INDEX, refuse
from kiln.numpy._trace import active


def _own(function):
    """Outside of a jitted function, jits itself."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        if active() is not None:
            return function(*args, **kwargs)
        from kiln.numpy._jit import jit

        if not hasattr(call, "jitted"):
            call.jitted = jit(function)
        return call.jitted(*args, **kwargs)

    return call


def _real(x):
    x = as_array(x)
    return x if _dtypes.is_float(_dtypes.narrow(x.dtype)) else x.astype(np.float32)


def _activation(op, words):
    def function(x):
        return Array(op(_real(x)._get()))

    function.__name__ = function.__qualname__ = op.__name__
    function.__doc__ = words
    return _own(function)


relu = _activation(ops.relu, "max(x, 0).")
sigmoid = _activation(ops.sigmoid, "1 / (1 + e^-x).")
silu = _activation(ops.silu, "x * sigmoid(x).")
softplus = _activation(ops.softplus, "ln(1 + e^x).")
mish = _activation(ops.mish, "x * tanh(softplus(x)).")
erf = _activation(ops.erf, "The error function.")
rsqrt = _activation(ops.rsqrt, "1 / sqrt(x).")


@_own
def gelu(x, approximate=False):
    """x/2 * (1 + erf(x / sqrt 2)); approximate: by tanh."""
    return Array((ops.gelu_tanh if approximate else ops.gelu)(_real(x)._get()))


@_own
def leaky_relu(x, slope=0.01):
    """x, and slope * x below zero."""
    x = _real(x)
    return np.where(x > 0, x, x * slope)


@_own
def softmax(x, axis=-1):
    """e^x over the sum of them along an axis."""
    x = _real(x)
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@_own
def log_softmax(x, axis=-1):
    """The logarithm of softmax."""
    x = _real(x)
    d = x - np.max(x, axis=axis, keepdims=True)
    return d - np.log(np.sum(np.exp(d), axis=axis, keepdims=True))


@_own
def logsumexp(x, axis=None, keepdims=False):
    """The logarithm of the sum of exponentials."""
    x = _real(x)
    high = np.max(x, axis=axis, keepdims=True)
    high = np.where(np.isfinite(high), high, np.zeros(1, _dtypes.narrow(x.dtype)))
    made = np.log(np.sum(np.exp(x - high), axis=axis, keepdims=keepdims))
    return made + (high if keepdims else high.reshape(made.shape))


@_own
def rms_norm(x, weight=None, epsilon=1e-6, axis=-1):
    """x over the root of its mean square, times a weight."""
    x = _real(x)
    wide = x.astype(np.float32)
    made = (wide / np.sqrt(np.mean(np.square(wide), axis=axis, keepdims=True) + epsilon)).astype(x.dtype)
    return made if weight is None else made * weight


@_own
def layer_norm(x, weight=None, bias=None, epsilon=1e-5, axis=-1):
    """x without its mean, over its standard deviation, times a weight, plus a bias."""
    x = _real(x)
    wide = x.astype(np.float32)
    centred = wide - np.mean(wide, axis=axis, keepdims=True)
    made = (centred / np.sqrt(np.mean(np.square(centred), axis=axis, keepdims=True) + epsilon)).astype(x.dtype)
    made = made if weight is None else made * weight
    return made if bias is None else made + bias


@_own
def topk(x, k, axis=-1, largest=True):
    """(the k largest along an axis, in order, and where they are); of equal ones the first."""
    x = as_array(x)
    axis = axis_of(axis, x.ndim)
    if not 0 <= k <= x.shape[axis]:
        refuse(INDEX, f"topk of {k} elements along an axis of {x.shape[axis]}", "correct k", kind=ValueError)
    node = x._get()
    return Array(ops.top_k(node, axis, k, largest)), Array(ops.top_k_indices(node, axis, k, largest))


@_own
def one_hot(x, depth, dtype=np.float32):
    """A last axis of zeros with one at the index."""
    x = as_array(x)
    return (np.expand_dims(x, -1) == np.arange(depth, dtype=np.int32)).astype(dtype)


@_own
def bincount(x, length, weights=None):
    """How often each of 0, 1, ..., length - 1 is there, or the sums of their weights."""
    nodes = [node_of(x)] if weights is None else [node_of(x), node_of(weights)]
    return Array(ops.bincount(nodes, length))


@_own
def nonzero(x, size):
    """Where the first `size` nonzero elements are, in C order, as one array for each axis."""
    x = as_array(x)
    flat = Array(active().push("nonzero", (node_of(x, np.dtype(bool)),), size))
    return np.unravel_index(np.minimum(flat, max(x.size - 1, 0)), x.shape)


@_own
def dynamic_slice(x, start, size, axis=0):
    """x[start:start + size] along an axis, from a start that is known at run time alone."""
    x = as_array(x)
    axis = axis_of(axis, x.ndim)
    return Array(ops.dynamic_slice(x._get(), _start(start), axis, size))


@_own
def dynamic_update_slice(x, part, start, axis=0):
    """x with x[start:start + n] along an axis replaced."""
    x = as_array(x)
    node = x._get()
    return Array(ops.update_slice(node, node_of(part, node.dtype), _start(start), axis_of(axis, x.ndim)))


def _start(start):
    start = as_array(start)
    if start.size != 1 or start.dtype.kind not in "iu":
        refuse(INDEX, f"a start {start.dtype}{list(start.shape)}", "pass one integer", kind=TypeError)
    return ops.cast(ops.reshape(start._get(), ()), _dtypes.INT32)


# Convolutions and pooling.

def _tuple(value, rank, name):
    made = tuple(value) if isinstance(value, (tuple, list)) else (value,) * rank
    if len(made) != rank:
        refuse(ARGUMENT, f"{name}={value!r} for {rank} dimensions", "pass one number, or one for each dimension")
    return made


def _borders(padding, x, kernel, stride, dilation):
    rank = len(kernel)
    if padding == "valid" or padding == 0:
        return [(0, 0)] * rank
    if padding == "same":
        made = []
        for n, k, s, d in zip(x.shape[-rank:], kernel, stride, dilation):
            total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
            made.append((total // 2, total - total // 2))
        return made
    if isinstance(padding, str):
        refuse(ARGUMENT, f"padding={padding!r}", "pass 'valid', 'same', or numbers")
    return [p if isinstance(p, tuple) else (p, p) for p in _tuple(padding, rank, "padding")]


def _convolution(x, w, stride, padding, dilation, groups, bias, rank):
    x, w = _real(x), _real(w)
    if x.ndim != rank + 2 or w.ndim != rank + 2:
        refuse(ARGUMENT, f"a convolution of {list(x.shape)} with {list(w.shape)}",
               f"x is (batch, channels, {rank} extents), w is (results, channels / groups, {rank} extents)",
               kind=ValueError)
    stride, dilation = _tuple(stride, rank, "stride"), _tuple(dilation, rank, "dilation")
    if w.shape[1] * groups != x.shape[1] or w.shape[0] % groups:
        refuse(ARGUMENT, f"{groups} groups of {w.shape[1]} channels for {x.shape[1]}", "correct groups or w",
               kind=ValueError)
    low, high = zip(*_borders(padding, x, w.shape[2:], stride, dilation))
    dtype = np.result_type(x.dtype, w.dtype)
    made = Array(active().push("conv", (node_of(x, dtype), node_of(w, dtype)), list(stride), list(low), list(high),
                               list(dilation), [1] * rank, groups))
    return made if bias is None else made + as_array(bias).reshape(-1, *(1,) * rank)


@_own
def conv1d(x, w, stride=1, padding=0, dilation=1, groups=1, bias=None):
    """x (batch, channels, length), w (results, channels / groups, size)."""
    return _convolution(x, w, stride, padding, dilation, groups, bias, 1)


@_own
def conv2d(x, w, stride=1, padding=0, dilation=1, groups=1, bias=None):
    """x (batch, channels, height, width), w (results, channels / groups, height, width)."""
    return _convolution(x, w, stride, padding, dilation, groups, bias, 2)


@_own
def conv3d(x, w, stride=1, padding=0, dilation=1, groups=1, bias=None):
    """The same with three extents."""
    return _convolution(x, w, stride, padding, dilation, groups, bias, 3)


def _pooled(x, size, stride, padding, mode):
    x = as_array(x)
    rank = x.ndim - 2
    size = _tuple(size, rank, "size")
    stride = size if stride is None else _tuple(stride, rank, "stride")
    low, high = zip(*(p if isinstance(p, tuple) else (p, p) for p in _tuple(padding, rank, "padding")))
    return Array(active().push("pool", (x._get(),), list(size), list(stride), list(low), list(high), [1] * rank, mode))


@_own
def max_pool(x, size, stride=None, padding=0):
    """The largest of each window; x is (batch, channels, extents)."""
    return _pooled(x, size, stride, padding, "max")


@_own
def avg_pool(x, size, stride=None, padding=0):
    """The mean of each window, borders of zeros included; x is (batch, channels, extents)."""
    return _pooled(_real(x), size, stride, padding, "mean")


# Loops and branches.

def _known_integer(x):
    """x as a Python integer, when tracing knows it; None otherwise."""
    if isinstance(x, Array):
        x = x._known()
    return None if x is None else int(x)


@_own
def fori_loop(lower, upper, body, carry):
    """carry = body(i, carry) for i from lower to upper: a loop of the program, whose body is traced once."""
    first, last = _known_integer(lower), _known_integer(upper)
    if first is not None and last is not None:
        if last - first <= 0:
            return carry
        if last - first == 1:
            return body(Array(const=np.asarray(first, np.int32)), _copied(carry))
        return _control.for_loop(last - first, lambda i, c: body(i + first if first else i, c), carry)
    start = as_array(lower).astype(np.int32)
    end = as_array(upper).astype(np.int32)
    return _control.while_loop(lambda s: s[0] < end, lambda s: (s[0] + 1, body(s[0], s[1])), (start, carry))[1]


@_own
def while_loop(condition, body, carry):
    """carry = body(carry) while condition(carry) holds: a loop of the program."""
    return _control.while_loop(condition, body, carry)


@_own
def cond(condition, then, otherwise, *operands):
    """then(*operands) where the condition holds, else otherwise(*operands): a branch of the program."""
    c = as_array(condition)
    if c.size != 1:
        refuse(ARGUMENT, f"a condition of shape {c.shape}", "reduce it with np.any or np.all", kind=ValueError)
    if c._known() is not None:
        return then(*operands) if bool(c._known()) else otherwise(*operands)
    return _control.branch(node_of(c.reshape(()), _dtypes.BOOL), then, otherwise, operands)


def _mapped(f, *structures):
    """f of the arrays and numbers that stand in the same places."""
    leaves = [_control.Leaves(s) for s in structures]
    return leaves[0].back(map(f, *(each.values for each in leaves)))


def _copied(structure):
    """State that a body may write to: what the caller passed in stays as it is."""
    return _mapped(lambda x: x if isinstance(x, (int, float)) else as_array(x).copy(), structure)


@_own
def scan(body, carry, xs, length=None):
    """(carry, ys) with carry, y = body(carry, x) for each x along the first axis of xs: a loop of the program."""
    lengths = {np.shape(leaf)[0] for leaf in _control.Leaves(xs).values} | ({length} if length is not None else set())
    if len(lengths) != 1:
        refuse(ARGUMENT, f"scan over lengths {sorted(lengths)}", "pass arrays with the same first extent, or length=")
    count = lengths.pop()
    xs = _mapped(as_array, xs)
    if count == 0:  # the body tells what its results are like
        one = body(_copied(carry), _mapped(lambda x: np.zeros(x.shape[1:], _dtypes.narrow(x.dtype)), xs))[1]
        return carry, _mapped(lambda y: np.zeros((0, *np.shape(y)), _dtypes.narrow(as_array(y).dtype)), one)
    carry, first = body(_copied(carry), _mapped(lambda x: x[0], xs))
    first = _mapped(as_array, first)
    if count == 1:
        return carry, _mapped(lambda y: np.expand_dims(y, 0), first)
    ys = _mapped(lambda y: np.concatenate(
        [np.expand_dims(y, 0), np.zeros((count - 1, *y.shape), _dtypes.narrow(y.dtype))], axis=0), first)

    def step(i, state):
        now, results = state
        now, y = body(now, _mapped(lambda x: x[i + 1], xs))
        return now, _mapped(lambda whole, one: _placed(whole, one, i + 1), results, y)

    return _control.for_loop(count - 1, step, (carry, ys))


def _placed(whole, one, i):
    whole[i] = one
    return whole
