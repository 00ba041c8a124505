"""The merit of attempts at a page, which decides which of them is current.

Among attempts under the same settings a page read to its end ("ok", "blank", "embedded") beats one that is doubtful,
was cut short or repeats itself, and that beats a failed one. Within a rank the higher confidence wins, and any
confidence beats none; of equals the earlier. A trusted text layer counts as certain. A page that was read to its end is
read again only when forced, and then the later run's attempt counts. A doubtful text and one cut short have the same
rank, because the confidence covers what is missing too: more is right of half a page at 0.9 than of a whole one at 0.1.

Confidences under different settings cannot be compared: an attempt under others replaces the current one unless that
has a higher of these three ranks. So the text of a page that new settings cannot read stays, with the settings it was
made under; the page is tried under the new ones up to their own limit, and then given up without being quarantined.

A first reading is stored at once while a better one is under way, under settings of its own (first_settings): it counts
neither as done nor as tried, so that a killed run leaves its text, and the next run reads the page to its end. The
final reading replaces it, even if that is in doubt; only a failure does not.
"""

RANK = {"ok": 2, "blank": 2, "embedded": 2, "doubtful": 1, "truncated": 1, "repeated": 1, "failed": 0}
FINE_RANK = 2
# Confidence of an attempt without one, which may have no text: any other with a text ranks above it, however doubtful.
_NO_CONFIDENCE = -1.0
Merit = tuple[int, float]


def merit(status: str, confidence: float | None) -> Merit:
    """Returns an attempt's merit: its rank, and what decides between attempts under the same settings."""
    if status == "embedded":
        return FINE_RANK, 1.0
    return RANK[status], _NO_CONFIDENCE if confidence is None else confidence


def first_settings(settings_hash: str) -> str:
    """Returns the settings hash of a reading that is not the last one under these settings."""
    return f"{settings_hash}+first"
