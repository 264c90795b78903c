"""The parameters that the lint knows are those of Kiln's instruction table."""

import json
import os
import pathlib
import re
import subprocess

import pytest

from kiln._old_forms import ISA
from kiln.lint.signatures import DST_INSTRUCTIONS, SIGNATURES

KILN = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "cli/kiln"
INSTRUCTIONS = [name.rpartition(".")[2] for name in SIGNATURES if name.startswith(ISA + ".")]


def kiln_isa(*arguments):
    done = subprocess.run([KILN, "isa", *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_parameters_are_those_of_the_table(name):
    signature = re.fullmatch(r"\w+\((.*)\)", kiln_isa(name)["signature"], re.S).group(1)
    names = [part.split("=")[0].strip() for part in re.sub(r"\([^()]*\)", "", signature).split(",")]
    written = [word for word in names if word and not (name == "register_alloc" and word == "dst")]  # its result
    assert list(SIGNATURES[f"{ISA}.{name}"]) == written


def test_instructions_that_write_dst():
    assert "nc_matmul" in DST_INSTRUCTIONS
    assert DST_INSTRUCTIONS.isdisjoint(["core_barrier", "register_alloc", "sendrecv", "topk", "get_nc_version"])
