from kiln.nki.typing import *
