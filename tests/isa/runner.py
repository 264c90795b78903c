"""Runs the cases of .test files through isa_driver, one process per file, and judges what came back."""

import functools
import json
import os
import pathlib
import subprocess
import tempfile
import zlib

import numpy as np

import oracle

SEED = int(os.environ["KILN_SEED"])
DRIVER = pathlib.Path(os.environ["KILN_BUILD_DIR"]) / "tests" / "isa" / "isa_driver"
TIMEOUT_SECONDS = 600
# Warnings that come of values: cases feed every value that a dtype has. Each counts in the file that proves when it is
# given, and in cases that name it.
OF_VALUES = {"run.R13": "run", "run.R15": "nonfinite", "run.R16": "nonfinite"}


class Prepared:
    """A case with its inputs: `names` is what its expressions see."""

    def __init__(self, case):
        self.case = case
        rng = np.random.default_rng([SEED, zlib.crc32(f"{case.path.name}::{case.title}".encode())])
        self.makers = oracle.Inputs(rng)
        self.names = {**oracle.NAMES, **self.makers.names(), "rng": rng}
        self.inputs, self.outputs, self.result, self.error = {}, {}, None, None
        try:
            self.fill()
        except Exception as error:  # of the test's own expressions: this case fails, the others run
            self.error = error

    @np.errstate(all="ignore")
    def evaluate(self, expression, dtype=None):
        """The value, as `dtype` when given."""
        value = eval(expression, self.names)
        return oracle.cast(value, dtype) if dtype else value

    def fill(self):
        given = [(word, name) for word, name, _ in self.case.values]
        for tensor in self.case.named("input", "inout"):
            if ("in", tensor.name) not in given:
                self.fill_input(tensor, "specials()")
        for word, name, expression in self.case.values:
            if word == "in":
                self.fill_input(self.case.tensors[name], expression)
            else:
                self.names[name] = self.evaluate(expression)

    def fill_input(self, tensor, expression):
        self.makers.tensor = tensor
        value = np.broadcast_to(self.evaluate(expression, tensor.dtype), tensor.shape)
        self.inputs[tensor.name] = self.names[tensor.name] = np.ascontiguousarray(value)

    def write(self, folder):
        folder.mkdir()
        (folder / "program.kiln").write_text(self.case.text())
        if self.case.peer:
            (folder / "peer.kiln").write_text(self.case.peer_text())
        for name, value in self.inputs.items():
            raw = value if value.dtype.kind in "biuf" else value.view(f"V{value.dtype.itemsize}")
            np.save(folder / f"in_{name}.npy", raw)

    def read(self, folder):
        self.result = json.loads((folder / "result.json").read_text())
        if self.result["status"] != "ok":
            return
        for tensor in self.case.named("output", "inout"):
            array = np.load(folder / f"out_{tensor.name}.npy")
            host = oracle.host_dtype(tensor.dtype)
            self.outputs[tensor.name] = array if array.dtype == host else array.view(host)

    def crashed(self, how):
        self.result = {"status": "crashed", "diagnostics": [], "message": how}


def drive(folder):
    """Runs all cases of a folder. When one ends the driver, it is marked and the rest goes on."""
    while True:
        try:
            done = subprocess.run([DRIVER, folder], capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
            how = f"isa_driver ended with {done.returncode}: {done.stderr[-2000:]}"
        except subprocess.TimeoutExpired:
            how = f"isa_driver took more than {TIMEOUT_SECONDS} s"
        left = [c for c in sorted(folder.iterdir()) if not (c / "result.json").exists()]
        if not left:
            return
        (left[0] / "result.json").write_text(json.dumps({"status": "crashed", "diagnostics": [], "message": how}))


def run_cases(cases):
    """{title: Prepared}"""
    prepared = [Prepared(case) for case in cases]
    with tempfile.TemporaryDirectory(prefix="kiln_isa_") as folder:
        folders = {id(p): pathlib.Path(folder) / f"{i:04}" for i, p in enumerate(prepared) if not p.error}
        for p in prepared:
            if not p.error:
                p.write(folders[id(p)])
        drive(pathlib.Path(folder))
        for p in prepared:
            if not p.error:
                p.read(folders[id(p)])
    return {p.case.title: p for p in prepared}


def labels(diagnostics, severity):
    return {d["code"] for d in diagnostics if d["severity"] == severity}


def judge(prepared):
    """None when the case is as it should be, else what is wrong."""
    if prepared.error:
        return f"an expression of the case fails: {prepared.error!r}"
    case, result = prepared.case, prepared.result
    if case.kind == "reject" and not any(case.found):  # the reader itself serves older trees too
        return f"the rejected case '{case.title}' does not say what is found; add `found \"TEXT\"`{told(result)}"
    found = [d for d in result["diagnostics"] if d["severity"] == "error" or d["code"] in case.labels
             or OF_VALUES.get(d["code"], case.path.stem) == case.path.stem]
    wanted = {"accept": "ok", "warn": "ok", "reject": "rejected", "fail": "failed"}[case.kind]
    severity = "warning" if case.kind == "warn" else "error"
    if result["status"] != wanted:
        return f"status {result['status']}, expected {wanted}{told(result)}"
    if labels(found, severity) != set(case.labels):
        return f"expected exactly {', '.join(case.labels) or 'no error'}{told(result)}"
    if wanted == "ok" and case.kind == "accept" and found:
        return f"warnings in an accepted case{told(result)}"
    for text in case.found:
        if not any(text in d["found"] for d in found):
            return f"no diagnostic has found '{text}'{told(result)}"
    if result.get("differs"):
        return f"runs differ: {result['differs']}"
    return next(filter(None, (compare(prepared, e) for e in case.expectations)), None)


def told(result):
    lines = [f"\n  {d['severity']} {d['code']}: {d['rule']}; found: {d['found']}" for d in result["diagnostics"]]
    return "".join(lines) + (f"\n  {result['message']}" if result.get("message") else "")


def raw_bits(x):
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


def compare(prepared, expectation):
    tensor = prepared.case.tensors[expectation.name]
    actual = np.asarray(eval("_" + expectation.index, {"_": prepared.outputs[tensor.name], "np": np}))
    try:
        value = prepared.evaluate(expectation.expression, tensor.dtype if expectation.exact else None)
        value = np.broadcast_to(value, actual.shape)
    except Exception as error:
        return f"`expect {tensor.name}` fails: {error!r}"
    same = equal(actual, value) if expectation.exact else close(actual, value, tensor.dtype, expectation)
    return None if same.all() else mismatch(prepared, expectation, actual, value, same)


def equal(actual, value):
    same = raw_bits(actual) == raw_bits(value)
    return same | (np.isnan(actual) & np.isnan(value)) if oracle.is_float(actual.dtype) else same


@np.errstate(all="ignore")
def close(actual, value, dtype, expectation):
    rounded = oracle.f64(oracle.cast(value, dtype))
    a, v = oracle.f64(actual), np.asarray(value).astype(np.float64)
    if expectation.ulp:
        near = np.abs(a - rounded) <= expectation.ulp * ulp_of(rounded, dtype)
    else:  # the rounding of the dtype itself is no error
        allowed = expectation.relative * np.abs(v) + expectation.absolute
        near = np.abs(a - v) <= np.maximum(allowed, np.abs(rounded - v))
    return (near & np.isfinite(rounded)) | (a == rounded) | (np.isnan(a) & np.isnan(rounded))


def ulp_of(values, dtype):
    """The distance between neighbours of the dtype at these values."""
    host = oracle.host_dtype(dtype)
    if not oracle.is_float(host):
        return np.ones_like(values)
    info = oracle.ml_dtypes.finfo(host)
    eps = 2.0**-10 if dtype == "tfloat32" else float(info.eps)
    exponent = np.where(values == 0, -1000, np.frexp(np.abs(values))[1] - 1)
    return np.maximum(2.0**exponent * eps, float(info.smallest_subnormal))


def mismatch(prepared, expectation, actual, value, same):
    at = tuple(int(i) for i in np.argwhere(~np.asarray(same))[0]) if actual.ndim else ()
    lines = [f"{expectation.name}{expectation.index}: {(~same).sum()} of {same.size} elements differ, "
             f"first at {list(at)}"]
    lines.append(f"  got {actual[at]!s}, expected {value[at]!s} (bits {raw_bits(actual)[at]:#x})")
    for name, array in prepared.inputs.items():
        if array.shape == actual.shape:
            lines.append(f"  {name} is {array[at]!s} there")
    return "\n".join(lines)


@functools.cache
def table():
    return json.loads(subprocess.run([DRIVER, "--table"], capture_output=True, text=True, check=True).stdout)
