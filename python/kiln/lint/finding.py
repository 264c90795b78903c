"""A finding of the lint, as data, as text and as JSON; the text looks like every other diagnostic of Kiln."""

import json
import unicodedata
from dataclasses import dataclass, field

from kiln import _kiln

from .rules import BY_LABEL

MAX_COLUMNS = 200  # more are not shown


@dataclass(frozen=True, order=True)
class Finding:
    file: str
    line: int  # from 1; 0 when the file as a whole is meant
    column: int  # from 1
    end_column: int  # the first column after it; columns count characters
    rule: str  # the label
    message: str = field(compare=False)
    help: str = field(compare=False)
    severity: str = field(compare=False)
    profiles: tuple = field(compare=False)  # the front ends that refuse it
    source: str = field(compare=False, default="")  # the line

    @property
    def profile(self):
        return "+".join(self.profiles)

    @property
    def title(self):
        return BY_LABEL[self.rule].title

    def __str__(self):
        return str(self.diagnostic())

    def diagnostic(self):
        """The finding as everything else shows its own."""
        rule = BY_LABEL[self.rule]
        profiles = " and ".join(self.profile_text(profile) for profile in self.profiles)
        return _kiln.diagnostic(
            "language", self.rule, rule.title, self.message, self.help, file=self.file, line=self.line,
            severity=self.severity, allowed=rule.allowed.replace("{{", "{").replace("}}", "}"),
            facts=[("profile", profiles)], column=len(self.source[: self.column - 1].encode()) + 1,
            source=self.source if self.line else "", mark=self.carets())

    def severity_in(self, profile):
        return getattr(BY_LABEL[self.rule], profile)

    def profile_text(self, profile):
        """The front end, and its own severity when the finding's is another."""
        own = self.severity_in(profile)
        return profile if own == self.severity else f"{profile} ({own})"

    def carets(self):
        before, marked = self.source[: self.column - 1], self.source[self.column - 1 : self.end_column - 1]
        lead = "".join("\t" if c == "\t" else " " * width(c) for c in before[:MAX_COLUMNS])
        return lead + "^" * max(1, sum(map(width, marked[:MAX_COLUMNS])))

    def as_dict(self):
        return {
            "severity": self.severity, "category": "language", "code": self.rule, "rule": self.title,
            "file": self.file, "line": self.line, "column": self.column, "end_column": self.end_column, "stack": [],
            "context": self.source.strip(), "found": self.message, "allowed": BY_LABEL[self.rule].allowed,
            "help": self.help, "notes": [],
            "profiles": {profile: self.severity_in(profile) for profile in self.profiles},
        }  # fmt: skip


def width(character):
    """Columns of a terminal."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def as_text(findings):
    return "\n\n".join(map(str, findings)) + ("\n" if findings else "")


def as_json(findings):
    errors = any(finding.severity == "error" for finding in findings)
    return json.dumps({"ok": not errors, "diagnostics": [finding.as_dict() for finding in findings]}, indent=2)
