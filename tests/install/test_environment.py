"""The environment of this build: what README tells a user to activate has the `kiln` that was built."""

import importlib.metadata
import pathlib
import re
import subprocess
import sys

import pytest
import tomllib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from fresh_environment import BUILD, DOUBLE, SOURCE

PROJECT = tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]

KERNEL = DOUBLE + """

def test_double():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(double(x), 2 * x)


if __name__ == "__main__":
    test_double()
    print(nki.__file__)
"""


def shell(script, folder, environment=sys.prefix):
    """What a script prints in a shell that knows nothing but the activated environment."""
    plain = {"HOME": str(folder), "PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(["bash", "-euc", f". {environment}/bin/activate\n{script}"], cwd=folder, env=plain, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_package_is_that_of_the_build(tmp_path):
    printed = shell("python -c 'import kiln._kiln; print(kiln.__file__, kiln._kiln.__file__)'", tmp_path).split()
    assert {pathlib.Path(file).parent for file in printed} == {BUILD / "python" / "kiln"}


def test_the_command_is_that_of_the_build(tmp_path):
    (tmp_path / "double.py").write_text(KERNEL)
    assert shell("command -v kiln", tmp_path).strip() == f"{sys.prefix}/bin/kiln"
    assert "nc_matmul" in shell("kiln isa nc_matmul", tmp_path)
    for command in ("kiln run double.py", "kiln double.py", "python -m kiln double.py"):
        assert shell(command, tmp_path).splitlines()[-1] == f"{BUILD}/python/kiln/nki/__init__.py"


def test_the_native_program_finds_the_package(tmp_path):
    (tmp_path / "double.py").write_text(KERNEL)
    assert str(BUILD) in shell(f"{BUILD}/cli/kiln run double.py", tmp_path)


def test_pytest_finds_the_plugin(tmp_path):
    (tmp_path / "test_double.py").write_text(KERNEL)
    assert "1 passed" in shell("pytest -p kiln test_double.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nkiln_activate = true\n")
    assert "1 passed" in shell("pytest test_double.py", tmp_path)


def test_metadata_is_that_of_the_project():
    found = importlib.metadata.distribution(PROJECT["name"])
    assert found.version == re.search(r"project\(kiln VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
    assert found.requires == PROJECT["dependencies"]
    told = {(entry.group, entry.name, entry.value) for entry in found.entry_points}
    groups = {"console_scripts": PROJECT["scripts"], **PROJECT["entry-points"]}
    assert told == {(group, name, value) for group, entries in groups.items() for name, value in entries.items()}


@pytest.fixture
def filled(tmp_path):
    """A further environment, and how it is filled again."""
    folder = tmp_path / "an environment"

    def fill():
        command = [sys.executable, SOURCE / "scripts" / "fill_venv.py", folder, "--package", BUILD / "python",
                   "--version", importlib.metadata.version(PROJECT["name"])]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert fill() == ""
    return folder, fill


def test_an_environment_is_made_where_there_is_none(filled, tmp_path):
    folder, _ = filled
    printed = shell("python -c 'import kiln, numpy; print(kiln.__file__)'; kiln --version; pytest --version", tmp_path,
                    f"'{folder}'").splitlines()
    assert printed[0] == f"{BUILD}/python/kiln/__init__.py" and printed[1].startswith("kiln ") and len(printed) == 3


@pytest.mark.parametrize("name", ["kiln-nki", "kiln"])
def test_an_installed_kiln_makes_way_for_the_build(filled, tmp_path, name):
    folder, fill = filled
    packages = next(folder.glob("lib/python*/site-packages"))
    info = f"{name.replace('-', '_')}-0.0.1.dist-info"
    for file, text in {"kiln/__init__.py": "", f"{info}/METADATA": f"Name: {name}\nVersion: 0.0.1\n",
                       f"{info}/RECORD": f"kiln/__init__.py,,\n{info}/METADATA,,\n{info}/RECORD,,\n"}.items():
        (packages / file).parent.mkdir(exist_ok=True)
        (packages / file).write_text(text)
    assert "makes way" in fill()
    assert str(BUILD) in shell("python -c 'import kiln; print(kiln.__file__)'", tmp_path, f"'{folder}'")
    assert fill() == ""


def listed(name):
    """{package: version} of a list of requirements, and that it has nothing but exact versions."""
    lines = [line for line in (SOURCE / name).read_text().splitlines() if not line.startswith("#")]
    assert lines == sorted(lines, key=str.lower)
    return {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines}


def needed_by(names):
    """All packages that some need, directly or not."""
    found, new = set(), {canonicalize_name(name) for name in names}
    while new:
        found |= new
        texts = [text for name in new for text in importlib.metadata.requires(name) or []]
        wanted = [one for one in map(Requirement, texts) if one.marker is None or one.marker.evaluate({"extra": ""})]
        new = {canonicalize_name(one.name) for one in wanted} - found
    return found


def test_requirements_are_complete_and_installed():
    build, tests = listed("requirements.txt"), listed("requirements-test.txt")
    assert not build.keys() & tests.keys()
    assert needed_by(build) == build.keys()
    assert needed_by(tests) <= build.keys() | tests.keys()
    for name, version in (build | tests).items():
        assert importlib.metadata.version(name) == version, name
    assert {canonicalize_name(name) for name in PROJECT["dependencies"]} <= build.keys()
