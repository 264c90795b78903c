"""What code that imports NKI by an older name is told; other old forms stand in the lint's table."""

_LIBRARY = "drop it: the vendor's kernels are the package nkilib of the repository nki-library"

# (old import name, NKI version that ended it, what to write now)
IMPORTS = (
    ("neuronxcc.nki", "0.2.0", "import nki"),
    ("neuronxcc.nki.language", "0.2.0", "import nki.language as nl"),
    ("neuronxcc.nki.isa", "0.2.0", "import nki.isa as nisa"),
    ("neuronxcc.nki.compiler", "0.2.0",
     "drop it: nl.ndarray(..., address=(partition, byte)) places tensors, nl.no_reorder() orders instructions"),
    ("neuronxcc.nki.nccl", "0.2.0", "import nki.collectives as ncc"),
    ("neuronxcc.nki.kernels", "0.2.0", _LIBRARY),
    ("neuronxcc.nki._private_kernels", "0.2.0", _LIBRARY),
    ("neuronxcc.nki._pre_prod_kernels", "0.2.0", _LIBRARY),
    ("neuronxcc.nki.typing", "0.4.0", "import nki.typing as nt"),
    ("neuronxcc.nki.baremetal", "0.3.0", "call the kernel with NumPy arrays: kernel(x)"),
    ("neuronxcc.nki.benchmark", "0.3.0", "kiln time kernel.py"),
    ("neuronxcc.nki.profile", "0.3.0", "kiln time kernel.py"),
    ("neuronxcc.nki.simulate_kernel", "0.3.0", "nki.simulate(kernel)(*args)"),
    ("neuronxcc.nki.jit", "0.2.0", "import nki, then @nki.jit"),
)  # fmt: skip


def import_row(name):
    """The row of IMPORTS that tells most about a module, or None."""
    return max((row for row in IMPORTS if name == row[0] or name.startswith(row[0] + ".")),
               key=lambda row: len(row[0]), default=None)


def import_hint(name):
    """What to say to someone who imports an old name."""
    best = import_row(name)
    if best is None:
        return (f"No module named {name!r}: Kiln has no neuronxcc; kernels of NKI 0.6.0 import `nki` "
                "(remove `neuronxcc.` and see docs/migration.md)")
    return f"No module named {name!r}: {best[0]} is gone since NKI {best[1]}; write `{best[2]}`"
