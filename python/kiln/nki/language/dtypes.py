"""nki.language.dtypes: where older code finds the dtypes."""

from kiln._trace.dtypes import ALL as _ALL

globals().update(_ALL)
