"""What the environment decides: target, precision, limits."""

import os

from kiln._errors import refuse

_TARGETS = {
    "trn1": "trn1", "inf2": "trn1", "gen2": "trn1",
    "trn2": "trn2", "gen3": "trn2",
    "trn3": "trn3", "gen4": "trn3",
}
DEFAULT_TARGET = "trn3"
DEFAULT_MAX_INSTRUCTIONS = 50_000_000


def target():
    """The chip that kernels are built for: NEURON_PLATFORM_TARGET_OVERRIDE, else trn3 as in the vendor's simulator."""
    word = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE", "").strip().lower()
    if not word:
        return DEFAULT_TARGET
    if word not in _TARGETS:
        refuse("nki.R6", "the target is trn1, trn2 or trn3", f"NEURON_PLATFORM_TARGET_OVERRIDE={word}",
               f"set it to one of {', '.join(_TARGETS)}", category="config")
    return _TARGETS[word]


def generation():
    return {"trn1": 2, "trn2": 3, "trn3": 4}[target()]


def max_instructions():
    """How many instructions a kernel may issue before it counts as one that never ends."""
    word = os.environ.get("KILN_MAX_INSTRUCTIONS", "")
    if not word:
        return DEFAULT_MAX_INSTRUCTIONS
    if not word.isdigit() or int(word) == 0:
        refuse("nki.R14", "KILN_MAX_INSTRUCTIONS is a positive integer", f"`{word}`", "e.g. 1000000", category="config")
    return int(word)


def threads():
    """Worker threads of the simulator: KILN_THREADS, else one per processor (0)."""
    word = os.environ.get("KILN_THREADS", "")
    if not word:
        return 0
    if not word.isdigit():
        refuse("nki.R14", "KILN_THREADS is a positive integer", f"`{word}`", "e.g. 2", category="config")
    return int(word)
