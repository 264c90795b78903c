from kiln.nki.tensor import *
