from kiln.nki.dtype import *
