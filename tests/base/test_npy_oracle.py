"""npy_copy (our reader and writer) against NumPy: what it writes is what numpy.save writes, and what it refuses."""

import io
import itertools
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import warnings

import ml_dtypes
import numpy as np
import pytest

NPY_COPY = next(pathlib.Path(os.environ["KILN_BUILD_DIR"]).rglob("npy_copy"))
SEED = int(os.environ["KILN_SEED"])
SHAPES = [(), (1,), (0,), (7,), (3, 5), (0, 4), (4, 0, 2), (2, 3, 4, 5), (1,) * 20, (2, 3) + (1,) * 62]
ORDERS = ["C", "F"]
VERSIONS = [(1, 0), (2, 0), (3, 0)]


def npy_copy(*arguments, **options):
    return subprocess.run([NPY_COPY, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def listed(option):
    return [line.split() for line in npy_copy(option).stdout.splitlines()]


DTYPES = {name: int(size) for name, size in listed("--dtypes")}
# Names that neither NumPy nor ml_dtypes has: the dtype of the host array that carries their bits.
STAND_INS = {"tfloat32": "float32", "float8_e5m2_x4": "V4", "float8_e4m3fn_x4": "V4", "float4_e2m1fn_x4": "V2"}


def host_dtype(name):
    return np.dtype(STAND_INS.get(name) or getattr(np, name, None) or getattr(ml_dtypes, name))


def random_array(name, shape, order, rng):
    """Random bits, NaNs and subnormals included."""
    dtype = host_dtype(name)
    count = int(np.prod(shape, dtype=np.int64))
    raw = rng.integers(0, 2 if name == "bool_" else 256, count * dtype.itemsize, np.uint8)
    return np.array(raw.view(dtype).reshape(shape), order=order)


def saved(array, version=(1, 0)):
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions are said to be unreadable for old NumPy
        np.lib.format.write_array(stream, array, version)
    return stream.getvalue()


def raw(array):
    """What we write: as NumPy, with the dtypes that NumPy does not load again as void."""
    known = array.dtype.kind in "buif" and array.dtype.isbuiltin == 1
    return saved(array) if known else saved(array).replace(b"'|V", b"'<V").replace(b"'<f1'", b"'<V1'")


@pytest.mark.parametrize("name", DTYPES)
def test_copy_equals_numpy_save(name, tmp_path):
    rng = np.random.default_rng(SEED)
    print("seed", SEED)
    source, target = tmp_path / "in.npy", tmp_path / "out.npy"
    for shape, order, version in itertools.product(SHAPES, ORDERS, VERSIONS):
        array = random_array(name, shape, order, rng)
        source.write_bytes(saved(array, version))
        done = npy_copy(source, target, name)
        assert done.returncode == 0, (shape, order, version, done.stderr)
        assert target.read_bytes() == raw(np.ascontiguousarray(array).reshape(shape)), (shape, order, version)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.npy", "out.npy"]


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_loads_what_we_write(name, tmp_path):
    array = random_array(name, (3, 4), "C", np.random.default_rng(SEED))
    source, target = tmp_path / "in.npy", tmp_path / "out.npy"
    np.save(source, array)
    assert npy_copy(source, target, name).returncode == 0
    assert np.load(target).view(array.dtype).tobytes() == array.tobytes()


@pytest.mark.parametrize("name", [n for n in DTYPES if n not in STAND_INS and hasattr(np, n)] + ["float8_e5m2"])
def test_dtype_is_recognised_without_being_named(name, tmp_path):
    source, target = tmp_path / "in.npy", tmp_path / "out.npy"
    array = random_array(name, (5,), "C", np.random.default_rng(SEED))
    np.save(source, array)
    assert npy_copy(source, target).returncode == 0
    assert target.read_bytes() == raw(array)


@pytest.mark.parametrize("stored, name", [("uint8", "float8_e8m0fnu"), ("uint32", "float8_e5m2_x4"),
                                          ("uint32", "float8_e4m3fn_x4"), ("uint16", "float4_e2m1fn_x4")])
def test_bare_bits_may_come_as_unsigned_integers(stored, name, tmp_path):
    source, target = tmp_path / "in.npy", tmp_path / "out.npy"
    array = np.arange(200, 208).astype(stored)
    np.save(source, array)
    assert npy_copy(source, target, name).returncode == 0
    assert np.load(target).tobytes() == array.tobytes()


def test_large_array(tmp_path):
    source, target = tmp_path / "in.npy", tmp_path / "out.npy"
    array = np.random.default_rng(SEED).integers(0, 1 << 31, (1000, 1501), np.int32)
    np.save(source, np.asfortranarray(array))
    assert npy_copy(source, target).returncode == 0
    assert np.array_equal(np.load(target), array)


def header(text, data=b"", version=b"\x01\x00", length=None):
    text = text.encode("latin1")
    size = len(text) if length is None else length
    return b"\x93NUMPY" + version + size.to_bytes(2 if version[0] == 1 else 4, "little") + text + data


def shaped(shape, data=b"", descr="'<f4'"):
    return header(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n", data)


GOOD = saved(np.arange(6, dtype=np.float32).reshape(2, 3))
RECORDS = np.zeros(2, [("a", "f4"), ("b", "i2")])
# name: (expected code, file, dtype asked for or None)
BROKEN = {
    "text": ("npy.R1", b"hello, world", None),
    "zip": ("npy.R1", b"PK\x03\x04" + bytes(60), None),
    "magic off by one": ("npy.R1", b"\x94" + GOOD[1:], None),
    "version 0": ("npy.R2", GOOD[:6] + b"\x00\x00" + GOOD[8:], None),
    "version 1.1": ("npy.R2", GOOD[:6] + b"\x01\x01" + GOOD[8:], None),
    "version 4.0": ("npy.R2", GOOD[:6] + b"\x04\x00" + GOOD[8:], None),
    "empty file": ("npy.R3", b"", None),
    "ends in magic": ("npy.R3", GOOD[:4], None),
    "ends in version": ("npy.R3", GOOD[:7], None),
    "ends in length": ("npy.R3", GOOD[:9], None),
    "ends in header": ("npy.R3", GOOD[:60], None),
    "length beyond the file": ("npy.R3", header("{}", length=60000), None),
    "gigantic header": ("npy.R4", header("{}", version=b"\x02\x00", length=0xFFFFFFFF), None),
    "list": ("npy.R5", header("['descr']"), None),
    "set": ("npy.R5", header("{'descr'}"), None),
    "code": ("npy.R5", header("__import__('os').abort()"), None),
    "missing key": ("npy.R5", header("{'descr': '<f4', 'shape': ()}", bytes(4)), None),
    "extra key": ("npy.R5", header("{'a': 1, 'descr': '<f4', 'fortran_order': False, 'shape': ()}", bytes(4)), None),
    "number as order": ("npy.R5", header("{'descr': '<f4', 'fortran_order': 1, 'shape': ()}", bytes(4)), None),
    "shape no tuple": ("npy.R5", shaped("(1)", bytes(4)), None),
    "fraction": ("npy.R5", shaped("(1.0,)", bytes(4)), None),
    "not latin": ("npy.R5", header("{'d\xe9scr': '<f4'}"), None),
    "negative": ("npy.R6", shaped("(-1,)", bytes(4)), None),
    "two negatives": ("npy.R6", shaped("(-1, -1)", bytes(4)), None),
    "dimension overflows": ("npy.R6", shaped("(18446744073709551617,)", bytes(4)), None),
    "dimension of 2^63": ("npy.R6", shaped("(9223372036854775808,)"), None),
    "product overflows to 0": ("npy.R6", shaped("(4294967296, 4294967296)"), None),
    "product overflows to 4 bytes": ("npy.R6", shaped("(3074457345618258603, 6)", bytes(8)), None),
    "bytes overflow": ("npy.R6", shaped("(2305843009213693952,)"), None),
    "overflow behind a 0": ("npy.R6", shaped("(0, 4294967296, 4294967296)"), None),
    "65 dimensions": ("npy.R6", shaped("(" + "1, " * 65 + ")", bytes(4)), None),
    "big endian": ("npy.R7", saved(np.zeros(3, ">f4")), None),
    "big endian int": ("npy.R7", saved(np.zeros(3, ">i8")), None),
    "float64": ("npy.R8", saved(np.zeros(3)), None),
    "int64": ("npy.R8", saved(np.zeros(3, np.int64)), None),
    "uint64": ("npy.R8", saved(np.zeros(3, np.uint64)), None),
    "complex": ("npy.R8", saved(np.zeros(3, np.complex64)), None),
    "objects": ("npy.R8", saved(np.array([None, {}])), None),
    "text elements": ("npy.R8", saved(np.array(["a", "bc"])), None),
    "bytes elements": ("npy.R8", saved(np.array([b"a", b"bc"])), None),
    "dates": ("npy.R8", saved(np.zeros(2, "M8[s]")), None),
    "records": ("npy.R8", saved(RECORDS), None),
    "raw of 3 bytes": ("npy.R8", saved(np.zeros(2, "V3")), None),
    "empty descr": ("npy.R8", shaped("()", descr="''"), None),
    "bfloat16 without its name": ("npy.R9", saved(np.zeros(3, ml_dtypes.bfloat16)), None),
    "raw of 1 byte": ("npy.R9", saved(np.zeros(3, "V1")), None),
    "float32 as bfloat16": ("npy.R10", GOOD, "bfloat16"),
    "float32 as float16": ("npy.R10", GOOD, "float16"),
    "uint16 as bfloat16": ("npy.R10", saved(np.zeros(3, np.uint16)), "bfloat16"),
    "raw of the wrong size": ("npy.R10", saved(np.zeros(3, ml_dtypes.bfloat16)), "float8_e4m3"),
    "e5m2 as e4m3": ("npy.R10", saved(np.zeros(3, ml_dtypes.float8_e5m2)), "float8_e4m3"),
    "int32 as packed": ("npy.R10", saved(np.zeros(3, np.int32)), "float8_e5m2_x4"),
    "ends in data": ("npy.R11", GOOD[:-1], None),
    "no data": ("npy.R11", GOOD[:128], None),
    "huge shape": ("npy.R11", shaped("(1000000, 1000000)", bytes(16)), None),
    "trailing byte": ("npy.R12", GOOD + b"\x00", None),
    "two arrays": ("npy.R12", GOOD + GOOD, None),
    "data of an empty array": ("npy.R12", shaped("(0, 5)", bytes(4)), None),
}


def small_memory():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


@pytest.mark.parametrize("case", BROKEN)
def test_broken_file_is_refused(case, tmp_path):
    code, content, dtype = BROKEN[case]
    source, target = tmp_path / "in.npy", tmp_path / "out.npy"
    source.write_bytes(content)
    done = npy_copy(source, target, *([dtype] if dtype else []), preexec_fn=small_memory)
    assert done.returncode == 1, done.stderr
    [diagnostic] = json.loads(done.stderr)
    assert (diagnostic["code"], diagnostic["category"]) == (code, "config"), diagnostic
    assert diagnostic["file"] == str(source) and diagnostic["found"] and diagnostic["help"]
    assert list(tmp_path.iterdir()) == [source]


def test_every_rule_has_a_broken_file():
    # R13 concerns arrays in memory, which a file cannot be: npy_test.cpp has it.
    assert {code for [code] in listed("--rules")} == {code for code, _, _ in BROKEN.values()} | {"npy.R13"}


@pytest.mark.parametrize("case, remedy", [("float64", "astype(np.float32)"), ("int64", "astype(np.int32)"),
                                          ("objects", "Python objects"), ("records", "field")])
def test_help_says_what_to_do(case, remedy, tmp_path):
    source = tmp_path / "in.npy"
    source.write_bytes(BROKEN[case][1])
    assert remedy in json.loads(npy_copy(source, tmp_path / "out.npy").stderr)[0]["help"]


def file_size_limit():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that write fails, as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def test_full_disk_leaves_the_old_file_alone(tmp_path):
    source, target = tmp_path / "in.npy", tmp_path / "out.npy"
    np.save(source, np.zeros(1_000_000, np.float32))
    target.write_bytes(b"old")
    done = npy_copy(source, target, preexec_fn=file_size_limit)
    assert done.returncode == 1
    assert json.loads(done.stderr)[0]["code"] == "file.R2"
    assert target.read_bytes() == b"old"
    assert sorted(tmp_path.iterdir()) == [source, target]


def drop_root():
    """Root may write anywhere; the test needs a user who may not."""
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


def test_unwritable_folder():
    with tempfile.TemporaryDirectory() as made:  # pytest's own folders are closed to others whenever a pytest starts
        folder = pathlib.Path(made)
        folder.chmod(0o755)
        source, target = folder / "in.npy", folder / "closed" / "out.npy"
        source.write_bytes(GOOD)
        target.parent.mkdir(mode=0o555)
        done = npy_copy(source, target, preexec_fn=drop_root)
        assert done.returncode == 1, done.stderr
        assert json.loads(done.stderr)[0]["code"] == "file.R2"
        assert not list(target.parent.iterdir())


@pytest.mark.parametrize("where", ["missing/out.npy", "in.npy/out.npy", "folder"])
def test_impossible_target(where, tmp_path):
    (tmp_path / "folder").mkdir()
    source = tmp_path / "in.npy"
    source.write_bytes(GOOD)
    done = npy_copy(source, tmp_path / where)
    assert done.returncode == 1
    assert json.loads(done.stderr)[0]["code"] == "file.R2"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["folder", "in.npy"]


@pytest.mark.parametrize("what", ["missing.npy", "."])
def test_unreadable_source(what, tmp_path):
    done = npy_copy(tmp_path / what, tmp_path / "out.npy")
    assert done.returncode == 1
    assert json.loads(done.stderr)[0]["code"] == "file.R1"
    assert not list(tmp_path.iterdir())
