"""`import nki` gives kiln.nki, when asked and only then; old names tell how code is written now."""

import importlib
import pathlib
import subprocess
import sys
import types

import numpy as np
import pytest

import kiln
from kiln import _activate, _migration, _migration_page


@pytest.fixture
def active():
    kiln.activate()
    yield
    kiln.deactivate()


def test_the_modules_are_the_same_objects(active):
    import nki
    import nki.collectives as ncc
    import nki.isa as nisa
    import nki.language as nl
    import nki.typing as nt
    from nki.isa import constants, dma_copy
    from nki.isa.constants import oob_mode

    assert nki is kiln.nki and nisa is kiln.nki.isa and nl is kiln.nki.language
    assert ncc is kiln.nki.collectives and nt is kiln.nki.typing and constants is kiln.nki.isa.constants
    assert dma_copy is kiln.nki.isa.dma_copy and oob_mode is nisa.oob_mode
    assert nki.__spec__.name == nki.__name__ == "kiln.nki" and nl.__spec__.name == "kiln.nki.language"


def test_every_module_of_the_package_has_its_nki_name(active):
    import pkgutil

    names = [m.name for m in pkgutil.walk_packages(kiln.nki.__path__, "kiln.nki.")]
    assert "kiln.nki.compiler.frontend" in names
    for name in names:
        assert importlib.import_module(name.removeprefix("kiln.")) is importlib.import_module(name), name


def test_names_that_harnesses_import(active):
    import nki
    import nki.dtype as nt
    from nki.compiler.frontend import NKIFrontend, ParserFrontend, TracerFrontend, resolve_frontend_cls  # noqa: F401
    from nki.compiler.kernel_builder import compile_kernel
    from nki.compiler.ncc_driver import CompiledKernel, CompileOptions
    from nki.framework.compiled import CompileKernel, StandaloneKernel  # noqa: F401
    from nki.framework.kernel import Kernel

    assert issubclass(ParserFrontend, NKIFrontend) and Kernel is nki.Kernel
    assert nt is nki.dtype and nt.bfloat16 == nki.language.bfloat16 and isinstance(nt.bfloat16, nki.dtype)
    assert (nki.dtype | None) == (type(nt.bfloat16) | None)
    assert CompileOptions(lnc=2).lnc == 2
    for make in (CompiledKernel, StandaloneKernel, ParserFrontend().compile, lambda: compile_kernel(None)):
        with pytest.raises(NotImplementedError, match="not built yet"):
            make()


def test_nki_cpu_simulator_as_nki_library_uses_it(active):
    """The imports and the call of its test harness."""
    import nki_cpu_simulator.nki.builtin as sim_builtin  # noqa: F401
    import nki_cpu_simulator.nki.compiler as sim_ncc  # noqa: F401
    import nki_cpu_simulator.nki.isa as sim_nisa
    import nki_cpu_simulator.nki.isa.constants as sim_constants  # noqa: F401
    import nki_cpu_simulator.nki.language as sim_nl
    import nki_cpu_simulator.nki.language.dtypes as sim_dtypes
    import nki_cpu_simulator.nki.tensor as sim_tensor  # noqa: F401
    import nki_cpu_simulator.nki.typing as sim_nt  # noqa: F401
    from nki_cpu_simulator import nki as sim_nki

    assert sim_nki is kiln.nki and sim_nl is kiln.nki.language and sim_dtypes.float32 == sim_nl.float32

    def kernel(x, factor):
        out = sim_nl.ndarray(x.shape, dtype=x.dtype, buffer=sim_nl.shared_hbm)
        t = sim_nl.ndarray(x.shape, dtype=x.dtype)
        sim_nisa.dma_copy(t, x)
        sim_nisa.tensor_scalar(t, t, sim_nl.multiply, factor)
        sim_nisa.dma_copy(out, t)
        return out

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(sim_nki.cpu_simulate(kernel)[1](x=x, factor=2.0), 2 * x)


@pytest.mark.parametrize("name", [row[0] for row in _migration.IMPORTS if row[0] != "neuronxcc.nki.typing"])
def test_old_imports_name_the_new_ones(active, name):
    new = next(row[2] for row in _migration.IMPORTS if row[0] == name)
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(name)
    assert f"`{new}`" in str(caught.value) and caught.value.name == name


def test_old_import_forms(active):
    with pytest.raises(ModuleNotFoundError, match="import nki.language as nl"):
        import neuronxcc.nki.language as nl  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match="import `nki`"):
        from neuronxcc import nki  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match="docs/migration.md"):
        import neuronxcc.starfish.support.dtype  # noqa: F401


def test_the_one_old_module_that_still_serves(active):
    import neuronxcc.nki.typing as nt

    assert nt is kiln.nki.typing and nt.mutable_tensor is kiln.nki.typing.mutable_tensor
    with pytest.raises(ModuleNotFoundError, match="`import nki, then @nki.jit`"):
        from neuronxcc.nki import jit  # noqa: F401


@pytest.mark.parametrize("name", ["simulate_kernel", "baremetal", "benchmark", "profile"])
def test_names_that_are_gone_tell_what_to_write(name):
    with pytest.raises(AttributeError, match="in NKI 0.2.0: write `"):
        getattr(kiln.nki, name)


@pytest.mark.parametrize("keyword, rewrite", [("psumAccumulateFlag", "accumulate="), ("mask", "bound the slices")])
def test_keywords_that_are_gone_tell_what_to_write(keyword, rewrite):
    def kernel(x):
        kiln.nki.isa.nc_matmul(x, x, x, **{keyword: 1})

    with pytest.raises(kiln.NkiValidationError, match=rewrite):
        kiln.nki.simulate(kernel)(np.zeros((2, 2), np.float32))


def test_the_migration_page_shows_the_tables():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "migration.md").read_text()
    assert _migration_page.refresh(page) == page, "refresh with: python -m kiln._migration_page docs/migration.md"
    for table in _migration_page.tables().values():
        assert table in page


def test_deactivate_gives_the_names_back(active):
    import neuronxcc.nki.typing  # noqa: F401
    import nki  # noqa: F401

    kiln.deactivate()
    assert not [n for n in sys.modules if n.split(".")[0] in ("nki", "neuronxcc", "nki_cpu_simulator")]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("nki")
    assert kiln.nki.language.float32 == "float32"


def test_a_vendor_package_in_use_is_left_alone():
    vendor = types.ModuleType("nki")
    vendor.__file__ = "somewhere/nki/__init__.py"
    sys.modules["nki"] = vendor
    try:
        with pytest.raises(kiln.NkiValidationError, match="somewhere/nki/__init__.py"):
            kiln.activate()
        assert not _activate.is_active() and sys.modules["nki"] is vendor
        kiln.activate(force=True)
        assert importlib.import_module("nki") is kiln.nki
        kiln.deactivate()
        assert sys.modules["nki"] is vendor
    finally:
        kiln.deactivate()
        sys.modules.pop("nki", None)


def test_an_installed_vendor_package_is_found_until_asked(tmp_path):
    (tmp_path / "nki").mkdir()
    (tmp_path / "nki" / "__init__.py").write_text("vendor = True\n")
    script = ("import sys; sys.path.insert(0, sys.argv[1]); import kiln, kiln.nki\n"
              "import nki; assert nki.vendor; kiln.activate(force=True)\n"
              "import nki; assert nki is kiln.nki; kiln.deactivate()\n"
              "import nki; assert nki.vendor")
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)


def test_import_loads_no_more_than_it_needs():
    """What makes an import slow is what it brings along."""
    script = "import kiln; kiln.activate(); import nki, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    assert not {"scipy", "torch", "pytest", "IPython", "matplotlib", "unittest"} & set(loaded)


def test_a_first_call_does_not_import_masked_arrays():
    """They take ten times as long as a small kernel."""
    script = """
import sys
import kiln, numpy as np
kiln.activate()
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def copy(x):
    out, tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out

copy(np.ones((128, 8), np.float32))
kiln.jit(lambda x: x + 1)(np.ones((128, 8), np.float32))
assert "numpy.ma" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
