"""The wheel that `make wheel` makes of this build: what is in it, what it says about itself, and that it works where
there is nothing but a Python with its dependencies."""

import email
import re
import sys
import zipfile

import pytest
import tomllib
from elftools.elf.elffile import ELFFile

from fresh_environment import BUILD, KERNEL, SOURCE, environment_with, run

PROJECT = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]
VERSION = re.search(r"project\(kiln VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
INFO = f"kiln_nki-{VERSION}.dist-info/"
OLDEST_GLIBC = (2, 34)
# What every Linux has, of what manylinux allows (PEP 600).
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    module = next((BUILD / "python" / "kiln").glob("_kiln.*.so"))
    printed = run(sys.executable, SOURCE / "scripts" / "make_wheel.py", "--module", module, out)
    files = list(out.iterdir())
    assert printed.split() == [str(file) for file in files]
    return files[0]


@pytest.fixture(scope="module")
def archive(wheel):
    with zipfile.ZipFile(wheel) as opened:
        yield opened


@pytest.fixture(scope="module")
def metadata(archive):
    return email.message_from_bytes(archive.read(INFO + "METADATA"))


@pytest.fixture(scope="module")
def fresh(wheel, tmp_path_factory):
    return environment_with(tmp_path_factory.mktemp("fresh"), wheel)


def alone(fresh, *words, folder):
    """Runs a command of the environment that finds nothing else: no compiler, no other program, no setting."""
    return run(fresh / "bin" / words[0], *words[1:], cwd=folder, env={"PATH": str(fresh / "bin")})


def test_its_name_says_for_which_python_and_glibc(wheel):
    python = "cp{}{}".format(*sys.version_info)
    name = re.fullmatch(rf"kiln_nki-{VERSION}-{python}-{python}-manylinux_(\d+)_(\d+)_\w+\.whl", wheel.name)
    assert name and tuple(map(int, name.groups())) <= OLDEST_GLIBC, wheel.name


def test_it_has_the_package_and_nothing_else(archive):
    package = SOURCE / "python"
    ours = {str(path.relative_to(package)) for path in (package / "kiln").rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}
    assert {"kiln/py.typed", "kiln/_kiln.pyi", "kiln/__main__.py"} <= ours
    found = {name for name in archive.namelist() if not name.endswith("/")}
    modules = {name for name in found if re.fullmatch(r"kiln/_kiln\.[\w-]+\.so", name)}
    assert len(modules) == 1
    assert {name for name in found if not name.startswith(INFO)} == ours | modules


def test_it_brings_the_licences_of_what_is_linked_in(archive, metadata):
    named = {"cli11", "fmt", "highway", "libstdc++", "nanobind", "nlohmann_json", "robin_map"}
    texts = {name: archive.read(f"{INFO}licenses/third_party/{name}.txt").decode() for name in named}
    assert all("Copyright" in text or "copyright" in text for text in texts.values())
    assert metadata["License-Expression"] == "Apache-2.0" and metadata.get_all("License-File") == ["LICENSE"]
    assert archive.read(f"{INFO}licenses/LICENSE") == (SOURCE / "LICENSE").read_bytes()


def test_it_says_what_it_is(archive, metadata):
    assert metadata["Name"] == PROJECT["name"] == "kiln-nki"
    assert metadata["Version"] == VERSION
    assert metadata["Summary"] == PROJECT["description"]
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata["Keywords"].split(",") == PROJECT["keywords"]
    assert metadata.get_all("Classifier") == PROJECT["classifiers"]
    assert metadata.get_all("Requires-Dist") == PROJECT["dependencies"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload(decode=True).decode().strip() == (SOURCE / "README.md").read_text().strip()
    entries = archive.read(INFO + "entry_points.txt").decode()
    assert "kiln=kiln.__main__:main" in entries.replace(" ", "") and "[pytest11]" in entries


def test_its_module_needs_what_every_linux_has(archive, tmp_path):
    module = next(name for name in archive.namelist() if name.startswith("kiln/_kiln.") and name.endswith(".so"))
    with open(archive.extract(module, tmp_path), "rb") as file:
        elf = ELFFile(file)
        tags = list(elf.get_section_by_name(".dynamic").iter_tags())
        exported = {symbol.name for symbol in elf.get_section_by_name(".dynsym").iter_symbols()
                    if symbol["st_shndx"] != "SHN_UNDEF"}
    needed = {tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"}
    assert {name for name in needed if not name.startswith("ld-linux")} <= LIBRARIES
    assert not any(tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH") for tag in tags)
    assert exported == {"PyInit__kiln"}  # so that it meets no other module's fmt or C++ library


def test_its_module_loads_nothing_of_this_machine(fresh, tmp_path):
    (tmp_path / "load.py").write_text("""
import ctypes
import importlib.util
import pathlib


def libraries():
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[-1] for line in lines if ".so" in line}


before = libraries()
package = pathlib.Path(importlib.util.find_spec("kiln").origin).parent
ctypes.PyDLL(str(next(package.glob("_kiln.*.so"))))
print(*sorted(libraries() - before), sep="\\n")
""")
    loaded = alone(fresh, "python", "load.py", folder=tmp_path).split()
    others = [path for path in loaded if not path.startswith(str(fresh))]
    assert len(others) < len(loaded)
    assert {path.rpartition("/")[2] for path in others} <= LIBRARIES


def test_kernels_run_there(fresh, tmp_path):
    (tmp_path / "double.py").write_text(KERNEL)
    for command in (["kiln", "run"], ["python", "-m", "kiln"]):
        printed = alone(fresh, *command, "double.py", folder=tmp_path)
        assert str(fresh) in printed
    assert "double for trn2: ok" in alone(fresh, "kiln", "check", "double.py", "--arg", "x=float32[128,64]",
                                          "--target", "trn2", folder=tmp_path)
    assert "bottleneck" in alone(fresh, "kiln", "time", "double.py", "--arg", "x=float32[128,64]", folder=tmp_path)


def test_the_command_knows_text_programs(fresh, tmp_path):
    assert "nc_matmul" in alone(fresh, "kiln", "isa", "nc_matmul", folder=tmp_path)
    assert alone(fresh, "kiln", "--version", folder=tmp_path).strip() == f"kiln {VERSION}"


def test_pytest_leaves_nki_alone_unless_asked(fresh, tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import importlib.util\n\n\ndef test_it():\n    assert importlib.util.find_spec('nki') is None\n")
    alone(fresh, "python", "-m", "pytest", "-q", "test_it.py", folder=tmp_path)
    (tmp_path / "test_it.py").write_text("import nki\n\n\ndef test_it():\n    assert nki.__name__ == 'kiln.nki'\n")
    alone(fresh, "python", "-m", "pytest", "-q", "-p", "kiln", "test_it.py", folder=tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nkiln_activate = true\n")
    alone(fresh, "python", "-m", "pytest", "-q", "test_it.py", folder=tmp_path)
