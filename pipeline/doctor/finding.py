"""Defines a check's finding: fine, wrong with a remedy, or worth knowing."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of `ocrbatch doctor`. remedy: what to do; None where nothing needs to be done."""

    state: Literal["ok", "FAIL", "note"]
    what: str
    found: str
    remedy: str | None = None

    def line(self) -> str:
        """Returns the finding as a line of text."""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.state:<4} {self.what}: {self.found}{remedy}"


def ok(what: str, found: str) -> Finding:
    """Returns the finding that something is fine."""
    return Finding(state="ok", what=what, found=found)


def fail(what: str, found: str, remedy: str) -> Finding:
    """Returns the finding that a run would not work, or not as it should."""
    return Finding(state="FAIL", what=what, found=found, remedy=remedy)


def fail_of(what: str, error: Exception, otherwise: str) -> Finding:
    """Returns an error as a finding: the part of its message after the last semicolon is the remedy."""
    found, _, remedy = str(error).rpartition("; ")
    return fail(what, found or str(error), remedy if found else otherwise)


def note(what: str, found: str, remedy: str | None = None) -> Finding:
    """Returns a finding that does not stop a run but is worth knowing."""
    return Finding(state="note", what=what, found=found, remedy=remedy)


def size(num_bytes: float) -> str:
    """Returns a number of bytes in words: 512 MiB, 1.5 GiB."""
    return f"{num_bytes / (1 << 30):.1f} GiB" if num_bytes >= 1 << 30 else f"{num_bytes / (1 << 20):.0f} MiB"
