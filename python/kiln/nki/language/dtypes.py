"""nki.language.dtypes: where older code finds the dtypes."""

from kiln.nki._dtypes import ALL as _ALL

globals().update(_ALL)
