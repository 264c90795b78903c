"""inspect.signature of everything that kernels call: parameters in the vendor's order, defaults that are objects."""

import copy
import inspect
import pickle

import pytest

import kiln
from kiln import _kiln, nki
from kiln.nki import collectives
from kiln.nki import isa as nisa
from kiln.nki import language as nl


@pytest.mark.parametrize("name", sorted(_kiln.isa_functions))
def test_every_function_of_isa(name):
    parameters = inspect.signature(getattr(nisa, name)).parameters
    table = [row[0] for row in _kiln.isa_parameters(name)]
    assert list(parameters) == (["x"] if name == "register_alloc" else [*table, "name"])
    text = _kiln.isa_signature(name)
    for parameter in parameters.values():
        if f"{parameter.name}=engine." in text:
            assert isinstance(parameter.default, nisa.engine)
        if f"{parameter.name}=nl." in text:
            assert isinstance(parameter.default, _kiln.Op)


def test_defaults_are_what_the_documents_say():
    matmul = inspect.signature(nisa.nc_matmul).parameters
    assert matmul["accumulate"].default is None and matmul["is_transpose"].default is False
    assert matmul["perf_mode"].default is nisa.matmul_perf_mode.none
    assert matmul["dst"].default is inspect.Parameter.empty
    select = inspect.signature(nisa.range_select).parameters
    assert select["reduce_op"].default is nl.maximum and select["on_false_value"].default < -3.4e38
    bound = inspect.signature(nisa.dma_copy).bind(1, src=2)
    assert bound.arguments == {"dst": 1, "src": 2}


@pytest.mark.parametrize("module", [nisa, nl, collectives], ids=lambda m: m.__name__)
def test_every_function_has_a_signature(module):
    functions = {n: getattr(module, n) for n in dir(module) if not n.startswith("_")}
    for name, function in functions.items():
        if callable(function) and not inspect.isclass(function):
            assert isinstance(inspect.signature(function), inspect.Signature), name


def test_a_signature_is_that_of_the_version_in_use():
    before = nki.api_version()
    nki.api_version("0.3.0")
    try:
        assert "priority" not in inspect.signature(nisa.dma_copy).parameters
    finally:
        nki.api_version(before)
    assert "priority" in inspect.signature(nisa.dma_copy).parameters


def test_functions_of_isa_are_functions_to_python():
    class Holder:
        call = nisa.iota

    assert Holder().call is nisa.iota and inspect.isroutine(nisa.iota)
    assert copy.deepcopy(nisa.iota) is nisa.iota
    assert nisa.iota.__name__ == nisa.iota.__qualname__ == "iota" and "pattern" in nisa.iota.__doc__
    assert repr(nisa.iota) == "<function nki.isa.iota>"
    kiln.activate()
    try:
        assert pickle.loads(pickle.dumps(nisa.iota)) is nisa.iota
    finally:
        kiln.deactivate()
    with pytest.raises(TypeError):
        type(nisa.iota)()
