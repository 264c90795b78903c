"""What the rewrite did beyond one instruction for one call, and what it cannot do."""

import collections

NOTES = collections.Counter()
GUESSES = collections.Counter()  # places where the old compiler's choice is not known


class NotRewritten(Exception):
    """The source uses something of the old API that has no exact counterpart here."""
