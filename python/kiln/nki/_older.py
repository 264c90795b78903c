"""What versions of NKI before 0.6.0 do with calls. Each function gets the arguments of a call by name: it changes them,
or refuses what that version refuses."""

import math

from kiln import _kiln
from kiln._trace import memory, rules, version, views
from kiln._trace.errors import refuse


def missing(what, since):
    """Refuses something that came with a later version."""
    refuse(rules.IN_THE_VERSION, f"{what} came with NKI {since}", version=version.current(), since=since)


def no_unary_op0(arguments):
    name = getattr(arguments.get("op0"), "name", "")
    if name in ("square", "relu"):
        missing(f"nl.{name} as op0", "0.4.0")


def no_e4m3fn(arguments):
    for operand in ("stationary", "moving"):
        if getattr(arguments.get(operand), "dtype", None) == "float8_e4m3fn":
            missing(f"`{operand}` of float8_e4m3fn in nisa.nc_matmul", "0.4.0")


def small_destination(arguments):
    dst = arguments.get("dst")
    if getattr(dst, "dtype", None) == "bfloat16" and math.prod(dst.shape[1:]) > 4096:
        missing(f"a bfloat16 dst of {math.prod(dst.shape[1:])} elements in nisa.nc_matmul", "0.5.0")


def any_rank(arguments):
    dst, src = arguments.get("dst"), arguments.get("src")
    tensors = isinstance(dst, _kiln.NkiTensor) and isinstance(src, _kiln.NkiTensor)
    if not tensors or views.ndim(dst) == views.ndim(src):
        return
    order = arguments.get("axes") or (views.ndim(src) - 1, *range(1, views.ndim(src) - 1), 0)
    shape = tuple(src.shape[i] for i in order)
    if [n for n in shape if n > 1] == [n for n in dst.shape if n > 1]:
        arguments["dst"] = dst.reshape(shape)


def no_engine(arguments):
    arguments.pop("engine", None)


def sixteen_partitions(arguments):
    src = arguments.get("src")
    if isinstance(src, _kiln.NkiTensor) and src.shape[0] % 16:
        missing(f"nisa.sendrecv of {src.shape[0]} partitions, which is no multiple of 16,", "0.4.0")


def with_reduce_res(arguments):
    if arguments.get("reduce_res") is None:
        missing("nisa.tensor_scalar_reduce without reduce_res", "0.6.0")


def strict_hardware_dge(arguments):
    src = arguments.get("src")
    if getattr(arguments.get("dge_mode"), "name", "") != "hwdge" or not isinstance(src, _kiln.NkiTensor):
        return
    if src.shape[0] != 16 or src.shape[-1] % 128:
        missing(f"nisa.dma_transpose of {src.shape} by hardware DGE", "0.6.0")


def reshape(tensor, shape):
    """reshape of a tensor in HBM may leave elements out at the end."""
    shape = tuple(shape)
    fewer = all(isinstance(n, int) and n > 0 for n in shape) and math.prod(shape) < views.size(tensor)
    if not fewer or memory.is_on_chip(tensor.buffer):
        return views.reshape(tensor, shape)
    steps = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    return views.ap(tensor, pattern=[[step, n] for step, n in zip(steps, shape)])


def no_loop_variable(value):
    """Refuses the variable of a device loop in an address."""
    if isinstance(value, _kiln.VirtualRegister) and value.is_frozen:
        missing("the variable of a device loop in an address", "0.4.0")


def ap(tensor, *args, scalar_offset=None, **kwargs):
    """ap whose scalar_offset is no variable of a loop."""
    no_loop_variable(args[2] if len(args) > 2 else scalar_offset)
    if scalar_offset is not None:
        kwargs["scalar_offset"] = scalar_offset
    return views.ap(tensor, *args, **kwargs)
