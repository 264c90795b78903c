"""--target: the chip that a command takes kernels for."""

import os

from kiln import _kiln


def add_option(parser):
    parser.add_argument("--target", choices=list(_kiln.chips),
                        help="the chip, as NEURON_PLATFORM_TARGET_OVERRIDE would say")


def use(options):
    """Makes kernels be built for the chip that the options name, if they do."""
    if options.target:
        os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = options.target
