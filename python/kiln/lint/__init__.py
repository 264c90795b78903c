"""The language lint: Python that runs in the simulator and that a front end of the vendor's compiler refuses.

    for finding in kiln.lint.check_file("kernel.py"):
        print(finding)
"""

from kiln._old_forms import OLD_FORMS

from .checker import check_file, check_function, check_source
from .finding import Finding, as_json, as_text
from .rules import NEWEST, PROFILES, RULES, Rule, explain

__all__ = ["NEWEST", "OLD_FORMS", "PROFILES", "RULES", "Finding", "Rule", "as_json", "as_text", "check_file",
           "check_function", "check_source", "explain"]  # fmt: skip
