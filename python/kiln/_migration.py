"""Old import names and what is written now; docs/migration.md is walked from this table."""

# (old name, NKI version that removed it, what to write now)
IMPORTS = (
    ("neuronxcc.nki", "0.2.0", "import nki"),
    ("neuronxcc.nki.language", "0.2.0", "import nki.language as nl"),
    ("neuronxcc.nki.isa", "0.2.0", "import nki.isa as nisa"),
    ("neuronxcc.nki.compiler", "0.2.0",
     "drop it: nl.ndarray(..., address=(partition, byte)) places tensors, nl.no_reorder() orders instructions"),
    ("neuronxcc.nki.typing", "0.4.0", "import nki.typing as nt"),
    ("neuronxcc.nki.baremetal", "0.3.0", "call the kernel with NumPy arrays: kernel(x)"),
    ("neuronxcc.nki.benchmark", "0.3.0", "kiln time kernel.py"),
    ("neuronxcc.nki.profile", "0.3.0", "kiln time kernel.py"),
    ("neuronxcc.nki.simulate_kernel", "0.3.0", "nki.simulate(kernel)(*args)"),
    ("neuronxcc.nki.jit", "0.2.0", "import nki, then @nki.jit"),
)
# The same for names of the package itself.
NAMES = (
    ("nki.baremetal", "0.3.0", "call the kernel with NumPy arrays: kernel(x)"),
    ("nki.benchmark", "0.3.0", "kiln time kernel.py"),
    ("nki.profile", "0.3.0", "kiln time kernel.py"),
    ("nki.simulate_kernel", "0.3.0", "nki.simulate(kernel)(*args)"),
)
_PREFIX_HELP = "remove `neuronxcc.` and see docs/migration.md"


def import_hint(name):
    """What to say to someone who imports an old name."""
    best = max((row for row in IMPORTS if name == row[0] or name.startswith(row[0] + ".")),
               key=lambda row: len(row[0]), default=None)
    if best is None:
        return f"No module named {name!r}: Kiln has no neuronxcc; kernels of NKI 0.6.0 import `nki` ({_PREFIX_HELP})"
    return f"No module named {name!r}: {best[0]} is gone since NKI {best[1]}; write `{best[2]}`"


def name_hint(name):
    """What is written for a name of nki that is gone, or None."""
    for old, version, new in NAMES:
        if old == name:
            return f"it is gone since NKI {version}; write `{new}`"
    return None
