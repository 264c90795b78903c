"""What `kiln` says about a program as text: check, run, time, page and trace."""

import re

import numpy as np

from normal import normal, normal_bytes, normal_page
from records import array_line, digest, flat_text

TRIPS = 5  # of each loop on a register
LOOP = re.compile(r"^ *(?:for (\w+) =|while (\w+))", re.M)


def said(done):
    """Everything that a command printed, and its exit code when that is not 0."""
    out = flat_text(normal(done.stdout)) if done.stdout.startswith(("{", "[")) else normal(done.stdout)
    parts = [out, normal(done.stderr), f"exit code {done.returncode}" if done.returncode else ""]
    return "\n".join(part.rstrip("\n") for part in parts if part)


def section(title, text):
    return f"-- {title}\n{text}\n"


def trip_words(text):
    names = dict.fromkeys(a or b for a, b in LOOP.findall(text))
    return [f"--trip-count={name}={TRIPS}" for name in names]


def checked(tree, folder, files, *options):
    return section(" ".join(["check", *options]), said(tree.kiln("check", *files, "--json", *options, cwd=folder)))


def ran(tree, folder, files, inputs, outputs):
    """The run's report and digests of its outputs."""
    words = []
    for name, array in inputs.items():
        raw = array if array.dtype.kind in "biuf" else array.view(f"V{array.dtype.itemsize}")
        np.save(folder / f"in_{name}.npy", raw)
        words += ["--in", f"{name}=in_{name}.npy"]
    for name in outputs:
        words += ["--out", f"{name}=out_{name}.npy"]
    lines = [said(tree.kiln("run", *files, *words, "--json", cwd=folder))]
    for name in outputs:
        file = folder / f"out_{name}.npy"
        lines.append(array_line(name, np.load(file)) if file.exists() else f"{name}: not written")
    return section("run", "\n".join(lines))


def timed(tree, folder, files, text, *options):
    """The JSON report; `text` is that of the programs, for the names of its loops."""
    words = [*files, *trip_words(text), *options]
    return section(" ".join(["time", *options]), said(tree.kiln("time", *words, "--json", cwd=folder)))


def drawn(tree, folder, files, text):
    """The report as people read it, with digests of page and trace."""
    pictures = {"--html": folder / "page.html", "--trace": folder / "trace.perfetto"}
    words = [word for option, file in pictures.items() for word in (option, file.name)]
    lines = [said(tree.kiln("time", *files, *trip_words(text), *words, cwd=folder))]
    for option, file in pictures.items():
        if file.exists():
            seen = normal_page(file.read_text()) if option == "--html" else normal_bytes(file.read_bytes())
            lines.append(f"{option[2:]}: {digest(seen)}")
            file.unlink()
    return section("time as text", "\n".join(lines))
