from kiln.nki.collectives import *
