"""`# kiln: usually N`, at the end of a device loop's line or alone on the line above: how many passes it usually has.
NKI has no word for it, and `kiln time` wants a number."""

import linecache
import re
import sys

from kiln._trace import rules
from kiln._trace.errors import refuse

_COMMENT = re.compile(r"#\s*kiln:\s*usually\b(.*)")


def said(trace, depth=1):
    """Tells the loop that was just opened what the caller's source says, `depth` frames above."""
    frame = sys._getframe(depth + 1)
    file, line = frame.f_code.co_filename, frame.f_lineno
    above = linecache.getline(file, line - 1).strip() if line > 1 else ""
    found = _COMMENT.search(linecache.getline(file, line)) or _COMMENT.match(above)
    if not found:
        return
    number = found[1].strip()
    if not number.isdecimal() or len(number) > 18:
        refuse(rules.USUAL_PASSES, f"`{found[0].strip()}`")
    trace.usually(int(number))
