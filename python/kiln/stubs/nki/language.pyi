from kiln.nki.language import *
