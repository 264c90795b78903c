"""Records of .kiln files: what every command says about them. Files that end in 0 and 1 are a pair as well."""

import pathlib
import re
import shutil
import zlib

import numpy as np

import programs
from case_files import SEED, borrowed, print_all
from normal import folder

SIZE_LIMIT = 2**24  # elements of an input; a program with larger ones is checked and timed, not run


def jobs(tree):
    return [(f"kiln/{path.name}", records, (tree, path)) for path in tree.files("*.kiln")]


def records(tree, path):
    told = [(path.name, tell(tree, [path]))]
    peer = path.with_name(re.sub(r"0\.kiln$", "1.kiln", path.name))
    if peer != path and peer.exists():
        told.append((f"{path.name} and {peer.name}", tell(tree, [path, peer])))
    return told


def tell(tree, paths):
    with folder() as place:
        place = pathlib.Path(place)
        (place / "case").mkdir()
        for path in paths:
            shutil.copy(path, place / "case")
        printed = print_all(tree, place)["case"]
        return programs.section("printed", printed) + tell_files(tree, place / "case", [p.name for p in paths])


def tell_files(tree, place, files):
    text = "\n".join((place / file).read_bytes().decode(errors="replace") for file in files)
    inputs, outputs = arrays_of(text)
    told = programs.checked(tree, place, files)
    told += "".join(programs.checked(tree, place, files, "--target", t) for t in ("trn1", "trn2", "trn3"))
    if inputs is not None:
        told += programs.ran(tree, place, files, inputs, outputs)
    told += programs.timed(tree, place, files, text) + programs.timed(tree, place, files, text, "--in-order")
    return told + programs.timed(tree, place, files, text, "--target", "all") + programs.drawn(tree, place, files, text)


def arrays_of(text):
    """({name: array}, names of outputs) for the tensors that a program declares; (None, …) when one is too large."""
    case_file, oracle, _ = borrowed()
    inputs, outputs = {}, []
    for line in text.splitlines():
        match = case_file.TENSOR.match(line)
        if not match or match[2] in (None, "internal"):
            continue
        name, role, _, dtype, shape = match.groups()
        sizes = [int(n) for n in shape.split(",")] if shape.strip() else []
        if np.prod(sizes, dtype=object) > SIZE_LIMIT:
            return None, outputs
        if role != "output":
            inputs[name] = filled(oracle, name, dtype, sizes)
        if role != "input":
            outputs.append(name)
    return inputs, list(dict.fromkeys(outputs))


def filled(oracle, name, dtype, shape):
    """Small numbers that depend on the tensor's name only."""
    rng = np.random.default_rng([SEED, zlib.crc32(name.encode())])
    host = oracle.host_dtype(dtype)
    if dtype in oracle.PACKED:
        return rng.integers(0, 2**16, shape).astype(host)
    values = rng.standard_normal(shape) if oracle.is_float(host) else rng.integers(0, 4, shape)
    return np.ascontiguousarray(oracle.cast(np.asarray(values), dtype))
