"""kiln.time on ranks: kinds of ranks, lanes of ranks and links, topologies, what-ifs and advice, from Python and the
command."""

import json
import pathlib
import subprocess
import sys

import pytest

import kiln
from kiln import nki
from kiln.nki import collectives as nccl
from kiln.nki import isa as nisa
from kiln.nki import language as nl

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "programs"))

import rank_sum  # noqa: E402


@nki.jit
def summing(x, work, ranks):
    """`work` passes over a tile, then a sum over all ranks."""
    def own(name):
        return nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name=name)

    out, mine, total = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), own("mine"), own("total")
    tile = nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(tile, x)
    for _ in range(work):
        nisa.activation(tile, nl.exp, tile)
    nisa.dma_copy(mine, tile)
    nccl.all_reduce(srcs=[mine], dsts=[total], replica_group=nccl.ReplicaGroup([list(range(ranks))]), op=nl.add)
    nisa.dma_copy(out, total)
    return out


SHAPE = "float32[128,1024]"


@pytest.fixture(autouse=True)
def _trn2(monkeypatch):
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")


def _lanes(timing):
    return {lane["name"] for lane in timing.as_dict()["engines"] if lane["instruction_count"]}


def test_ranks_that_do_the_same_are_one():
    timing = kiln.time(summing, ranks=4)(SHAPE, 2, 4)
    told = timing.as_dict()
    assert [(r["name"], r["count"]) for r in told["ranks"]] == [("ranks 0-3", 4)]
    assert "ranks 0-3 links" in _lanes(timing) and told["topology"] == "trn2.48xlarge"
    assert "4 ranks on trn2.48xlarge, all alike" in str(timing)
    alone = kiln.time(summing)(SHAPE, 2, 4)
    assert alone.latency_us == timing.latency_us and "links" in _lanes(alone)


def test_a_slow_rank_is_waited_for(tmp_path):
    work = [1, 60, 1, 1]
    timing = kiln.time(summing, ranks=4)(SHAPE, kiln.per_rank(work), 4)
    told = timing.as_dict()
    assert [r["name"] for r in told["ranks"]] == ["ranks 0, 2-3", "rank 1"]
    links = {lane["name"]: lane for lane in told["engines"] if lane["name"].endswith("links")}
    waited = {name: lane["waiting_ns"].get("peer", 0) for name, lane in links.items()}
    assert waited["ranks 0, 2-3 links"] > 10_000 > waited["rank 1 links"]
    assert "of 2 kinds" in str(timing) and "\nRanks\n" in str(timing)
    assert timing.latency_us > kiln.time(summing, ranks=4)(SHAPE, 1, 4).latency_us + 10
    timing.save_html(tmp_path / "page.html")
    timing.save_trace(tmp_path / "trace")
    for name in ("rank 1 links", "ranks 0, 2-3 links", "rank 1 scalar"):
        assert name in (tmp_path / "page.html").read_text() and name.encode() in (tmp_path / "trace").read_bytes()


def test_topologies_and_what_ifs():
    def latency(ranks=256, **options):
        return kiln.time(summing, ranks=ranks, advice=False, **options)(SHAPE, 1, ranks).latency_us

    assert latency() == latency(topology="trn2.48xlarge") > latency(topology="trn2-ultraserver")
    assert latency(8, what_if="link_bandwidth=2x") < latency(8) > latency(8, what_if="link_hop=0.5x")
    with pytest.raises(kiln.NkiValidationError, match="timing.topology"):
        latency(topology="trn3")


def test_advice_about_exposed_communication():
    told = kiln.time(summing, ranks=4)(SHAPE, 60, 4).as_dict()
    advice = {a["rule"]: a for a in told["advice"]}
    assert "exposed_communication" in advice
    line = summing.func.__code__.co_firstlineno + 12
    assert [place["line"] for place in advice["exposed_communication"]["lines"]] == [line]


def test_ranks_that_miss_each_other():
    @nki.jit
    def some(x, enters, ranks):
        return summing.func(x, 1, ranks) if enters else copied(x)

    def copied(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, x)
        return out

    with pytest.raises(kiln.NkiValidationError, match="timing.deadlock") as error:
        kiln.time(some, ranks=2)(SHAPE, kiln.per_rank([True, False]), 2)
    assert "rank 1 has ended" in str(error.value)


def _kiln(folder, *words):
    return subprocess.run([sys.executable, "-m", "kiln", "time", *words], cwd=folder, capture_output=True, text=True)


def test_command(tmp_path):
    (tmp_path / "sum.kiln").write_text(rank_sum.text(128, 512))
    got = json.loads(_kiln(tmp_path, "sum.kiln", "--ranks", "4", "--topology", "trn2-ultraserver", "--json").stdout)
    assert got["reports"][0]["topology"] == "trn2-ultraserver"
    assert "trn2-ultraserver" in _kiln(tmp_path, "--topology", "list").stdout
    few = _kiln(tmp_path, "sum.kiln", "--ranks", "2")
    assert few.returncode == 2 and "launch.R4" in few.stderr
    other = _kiln(tmp_path, "sum.kiln", "--topology", "trn9")
    assert other.returncode == 2 and "timing.topology" in other.stderr


@pytest.mark.parametrize("lnc", ["1", "2"])
def test_tensor_programs(lnc, tmp_path):
    (tmp_path / "sum.kt").write_text("""kt 1
program "sum"
x: float32[128, 512] = input(name="x")
y = all_reduce(x, op="add", groups=[4, 0, 1, 2, 3])
output "y" = y
""")
    done = subprocess.run([sys.executable, "-m", "kiln", "time", "sum.kt", "--ranks", "4", "--lnc", lnc, "--json"],
                          cwd=tmp_path, capture_output=True, text=True)
    report = json.loads(done.stdout)["reports"][0]
    assert [r["name"] for r in report["ranks"]] == ["ranks 0-3"], done.stderr
    assert ("ranks 0-3 core 1 links" in {e["name"] for e in report["engines"]}) == (lnc == "2")
    assert report["bottleneck"].endswith("links")
