"""What a check finds: fine, wrong with what to do about it, or worth knowing."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of `ocrbatch doctor`. remedy: what to do; None where there is nothing to be done."""

    state: Literal["ok", "FAIL", "note"]
    what: str
    found: str
    remedy: str | None = None

    def line(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.state:<4} {self.what}: {self.found}{remedy}"


def ok(what: str, found: str) -> Finding:
    """Fine as it is."""
    return Finding(state="ok", what=what, found=found)


def fail(what: str, found: str, remedy: str) -> Finding:
    """A run would not work, or not as it should."""
    return Finding(state="FAIL", what=what, found=found, remedy=remedy)


def note(what: str, found: str, remedy: str | None = None) -> Finding:
    """Works, and is worth knowing."""
    return Finding(state="note", what=what, found=found, remedy=remedy)


def size(num_bytes: float) -> str:
    """Bytes in words: 512 MiB, 1.5 GiB."""
    return f"{num_bytes / (1 << 30):.1f} GiB" if num_bytes >= 1 << 30 else f"{num_bytes / (1 << 20):.0f} MiB"
