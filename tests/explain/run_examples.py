"""Runs the examples of `kiln explain` as a user would: what each breaks, as a set of codes."""

import contextlib
import io
import linecache
import os
import re
import shutil
import subprocess
import sys
import types
import warnings

import numpy as np

import kiln
from kiln import lint

IMPORTS = ("import math\nimport numpy as np\nimport kiln\n"
           "import nki, nki.isa as nisa, nki.language as nl, nki.collectives as ncc\n")
HEADER = 'kiln 1\nprogram "example" target trn2 fragment\n'
# A kernel returns something, whatever its example does.
KERNEL = """@nki.jit
def kernel():
{lines}
    zero = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=zero, value=0.0)
    done = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=done, src=zero)
    return done
"""
LABEL = re.compile(r"\b(?:error|warning)\[([\w.]+)\]")


class CommandFailed(Exception):
    """A command that ends with a code other than 0 and names no rule."""


def _execute(source):
    name = f"<example {len(linecache.cache)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = {"__name__": "example"}
    exec(compile(source, name, "exec"), names)
    return names


def _warned(caught):
    return {d.code for w in caught for d in getattr(w.message, "diagnostics", ())} | {
        code for w in caught for code in LABEL.findall(str(w.message))}


@contextlib.contextmanager
def _as_it_was():
    """Undoes what an example does to the process."""
    before, version = dict(os.environ), kiln.nki.api_version()
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "trn2"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        kiln.nki.api_version(version)


def _recorded(action):
    """The codes that `action` returns, and those of what it raises, warns and prints."""
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()) as printed:
        warnings.simplefilter("always")
        try:
            codes = set(action() or ())
        except kiln.NkiValidationError as error:
            codes = {d.code for d in error.diagnostics}
    return codes | _warned(caught) | set(LABEL.findall(printed.getvalue()))


def _kernel(lines):
    """The kernel of lines of a kernel: `# trn3` above them is its target, `# kernel[2](...)` its launch."""
    head = lines.partition("\n")[0]
    if re.fullmatch(r"# trn\d", head):
        os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = head[2:]
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    made = _execute(IMPORTS + KERNEL.format(lines=body))["kernel"]
    return made[2] if head == "# kernel[2](...)" else made


def _checked(lines):
    with _as_it_was():
        made = _kernel(lines)
        return _recorded(lambda: [d.code for d in kiln.check(made).diagnostics])


def _run(lines):
    with _as_it_was():
        made = _kernel(lines)
        return _recorded(lambda: made() is None or ())


# Lines of a kernel and fragments of programs are excerpts: what they compute comes from nowhere and goes nowhere, and
# both cores may do the same.
OF_WHOLE_KERNELS = {"flow.R3", "flow.R4", "flow.R5"}


def kernels(wrong, right):
    """Lines of a kernel. The check has the first word; only when it has nothing to say are they run, since most
    examples leave their inputs unwritten."""
    codes = _checked(wrong) - OF_WHOLE_KERNELS, _checked(right) - OF_WHOLE_KERNELS
    return codes if codes[0] else (_run(wrong) - OF_WHOLE_KERNELS, codes[1] | _run(right) - OF_WHOLE_KERNELS)


class _Torch(types.ModuleType):
    """As much of torch as an example needs, where it is not installed."""

    strided = "strided"

    class Tensor:
        layout = "strided"

        def __init__(self, array, device):
            self.array, self.shape, self.dtype = array, array.shape, f"torch.{array.dtype}"
            self.device = types.SimpleNamespace(type=device)

        def detach(self):
            return self

        def cpu(self):
            return self

        def numpy(self):
            return self.array

    Tensor.__module__ = "torch"

    @staticmethod
    def zeros(*shape, device="cpu"):
        return _Torch.Tensor(np.zeros(shape, np.float32), device)

    @staticmethod
    def from_numpy(array):
        return _Torch.Tensor(array, "cpu")


def file(source, folder):
    """A Python file that calls its kernels."""
    with _as_it_was():
        sys.modules.setdefault("torch", _Torch("torch"))
        try:
            return _recorded(lambda: _execute(IMPORTS + source) and ())
        finally:
            if isinstance(sys.modules["torch"], _Torch):
                del sys.modules["torch"]


def language(source, folder):
    """A Python file for the lint."""
    version = re.match(r"# version (\S+)\n", source)
    named = re.match(r"# python -m kiln.lint --kernel (\w+) ", source)
    options = {**({"api_version": version[1]} if version else {}), **({"kernels": [named[1]]} if named else {})}
    data = (IMPORTS + source).encode().replace(rb"\xe9", b"\xe9")  # a byte that text cannot show
    (folder / "kernel.py").write_bytes(data)
    return {finding.rule for finding in lint.check_file(folder / "kernel.py", **options)}


def program(text, folder):
    done = subprocess.run([shutil.which("kiln"), "check", "-"], capture_output=True, text=True,
                          input=text if text.startswith("kiln ") else HEADER + text)
    return set(LABEL.findall(done.stderr))


def command(lines, folder):
    done = subprocess.run(["bash", "-c", lines], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    codes = set(LABEL.findall(done.stderr + done.stdout))
    if done.returncode and not codes:
        raise CommandFailed(done.stderr)
    return codes


_ALONE = {"file": file, "program": program, "command": command}


def both(code, form, wrong, right, folders):
    """What the wrong and what the right one breaks. Each has a folder of its own."""
    if form == "kernel" and not code.startswith("language."):
        return kernels(wrong, right)
    run = language if code.startswith("language.") else _ALONE[form]
    ignored = OF_WHOLE_KERNELS - {code} if form == "program" else set()
    return run(wrong, folders[0]) - ignored, run(right, folders[1]) - ignored
