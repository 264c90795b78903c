from kiln.nki.isa import *
