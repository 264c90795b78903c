"""The enumerations of nki.isa: members and values as documented."""

import copy

import pytest

from kiln.nki import isa as nisa

# From the documents.
ENUMS = {
    "engine": {"unknown": 0, "tensor": 1, "scalar": 2, "gpsimd": 3, "dma": 4, "vector": 5, "sync": 6},
    "reduce_cmd": {"idle": 0, "reset": 1, "reduce": 2, "reset_reduce": 3, "load_reduce": 4},
    "dge_mode": {"unknown": 0, "swdge": 1, "hwdge": 2, "none": 3},
    "oob_mode": {"error": 0, "skip": 1},
    "matmul_perf_mode": {"none": "none", "double_row": "double_row"},
    "nc_version": {"gen2": 2, "gen3": 3, "gen4": 4},
    "dma_engine": {"dma": 1, "gpsimd_dma": 2},
}


@pytest.mark.parametrize("name", ENUMS)
def test_members_and_values(name):
    cls = getattr(nisa, name)
    assert {m.name: m.value for m in cls} == ENUMS[name]
    for member, value in ENUMS[name].items():
        assert cls(value) is cls[member] is getattr(cls, member)
        assert copy.deepcopy(cls[member]) is cls[member]


@pytest.mark.parametrize("name", [n for n in ENUMS if n != "nc_version"])
def test_a_member_is_true_and_equals_itself_only(name):
    members = list(getattr(nisa, name))
    assert all(members) and len(set(members)) == len(members)
    for i, member in enumerate(members):
        assert member == member and member != i and member != member.value and member not in members[i + 1:]
        assert str(member) == f"{member}" == f"{name}.{member.name}"


@pytest.mark.parametrize("name", ENUMS)
def test_every_member_has_a_repr(name):
    for member, value in ENUMS[name].items():
        assert repr(getattr(nisa, name)[member]) == f"<{name}.{member}: {value!r}>"
    assert repr(getattr(nisa, name)).startswith("<enum ")


def test_generations_are_ordered():
    assert nisa.nc_version.gen2 < nisa.nc_version.gen3 <= nisa.nc_version.gen4
