"""What the environment decides: target, precision, limits."""

import os

from kiln import _kiln
from kiln._trace import rules, version
from kiln._trace.errors import refuse

# What the environment may say -> chip.
_TARGETS = {word: name for name, chip in _kiln.chips.items()
            for word in (name, chip.other_name, chip.generation_name) if word}
DEFAULT_TARGET = "trn3"
TARGET_VARIABLES = ("NEURON_PLATFORM_TARGET_OVERRIDE", "NKI_NC_VERSION")  # the first that is set counts
_asked = 0  # how often a kernel or its file asked for the chip


def target():
    """The chip that kernels are built for, else trn3 as in the vendor's simulator. nki-library's tests say
    NKI_NC_VERSION."""
    for variable in TARGET_VARIABLES:
        word = os.environ.get(variable, "").strip().lower()
        if word and word not in _TARGETS:
            refuse(rules.TARGET, f"{variable}={word}", targets=", ".join(_TARGETS))
        if word:
            return _TARGETS[word]
    return DEFAULT_TARGET


def is_target_chosen():
    """Whether the environment says which chip, so that it is not just the default."""
    return any(os.environ.get(variable, "").strip() for variable in TARGET_VARIABLES)


def chip():
    """The chip of the kernel that is traced, else the one that the environment names."""
    trace = _kiln.active_trace()
    return trace.chip if trace is not None else _kiln.chips[target()]


def asked_chip():
    """The same for code of the user, which may decide by it what the kernel does."""
    global _asked
    _asked += 1
    return chip()


def times_asked():
    """How often asked_chip was called: whether what ran in between depends on the chip."""
    return _asked


def reserved_psum_banks():
    """NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE: dma_transpose goes through the tensor engine, which keeps PSUM bank 7."""
    word = os.environ.get("NKI_DMA_TRANSPOSE_AS_PE_TRANSPOSE", "").strip().lower()
    return 1 if word in ("1", "true") and _kiln.chips[target()].generation > 2 else 0


def check_lnc(lnc):
    """Refuses a launch that NEURON_LOGICAL_NC_CONFIG, when it is set, does not fit."""
    word = os.environ.get("NEURON_LOGICAL_NC_CONFIG", "").strip()
    if word not in ("", "1", "2"):
        refuse(rules.CORES_VARIABLE, f"NEURON_LOGICAL_NC_CONFIG={word}", lnc=lnc)
    if word and word != str(lnc):
        refuse(rules.LAUNCH_GRID, f"kernel[{lnc}] and NEURON_LOGICAL_NC_CONFIG={word}", word=word, lnc=lnc)


def precise():
    """NKI_PRECISE_FP: low-precision dtypes are stored in their real formats; 0 stores them as float32. Before NKI 0.4.0
    that was the default."""
    word = os.environ.get("NKI_PRECISE_FP", "").strip()
    if word not in ("", "0", "1"):
        refuse(rules.PRECISE_FP, f"NKI_PRECISE_FP={word}")
    return word != "0" if word else version.at_least("0.4.0")


def _positive(variable, default):
    """A positive integer of the environment."""
    word = os.environ.get(variable, "")
    if not word:
        return default
    if not word.isdigit() or int(word) == 0:
        refuse(rules.LIMITS, f"{variable}={word}")
    return int(word)


def max_instructions():
    """KILN_MAX_INSTRUCTIONS: how many instructions a kernel may issue before it counts as one that never ends."""
    return _positive("KILN_MAX_INSTRUCTIONS", 10_000_000)


def max_iterations():
    """KILN_MAX_ITERATIONS: how often the loops of a core may go round, all together, before they count as endless."""
    return _positive("KILN_MAX_ITERATIONS", 100_000_000)


def nan():
    """KILN_NAN: whether the first NaN or infinity that an instruction makes of numbers is told: off, warn or error."""
    word = os.environ.get("KILN_NAN", "").strip().lower() or "warn"
    if word not in _kiln.nan_modes:
        refuse(rules.NAN_MODE, f"KILN_NAN={word}", modes=", ".join(_kiln.nan_modes))
    return word


def max_memory():
    """KILN_MAX_MEMORY: how many bytes the arrays of a run may take, such as 8G; 0: nine tenths of what this machine
    has."""
    word = os.environ.get("KILN_MAX_MEMORY", "").strip()
    if not word:
        return 0
    size = _kiln.parse_bytes(word)
    if size is None:
        refuse(rules.LIMITS, f"KILN_MAX_MEMORY={word}")
    return size


MOST_RANKS = 4096


def require_ranks(count, found):
    """Refuses what is no number of ranks."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_RANKS:
        refuse(rules.RANK_COUNT, found)


def ranks():
    """KILN_RANKS: on how many ranks kernels run that do not say it themselves; None: on one, which is alone."""
    word = os.environ.get("KILN_RANKS", "").strip()
    if not word:
        return None
    require_ranks(int(word) if word.isdigit() else word, f"KILN_RANKS={word}")
    return int(word)


def lnc():
    """KILN_LNC: on how many cores kernels run that are called without a grid; None: on one."""
    word = os.environ.get("KILN_LNC", "").strip()
    if word not in ("", "1", "2"):
        refuse(rules.GRID_SIZE, f"KILN_LNC={word}")
    return int(word) if word else None


def threads():
    """KILN_THREADS: threads of the simulator; 0, the default, is one per processor."""
    return _positive("KILN_THREADS", 0)
