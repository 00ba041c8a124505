"""Says what to do about pages and files that need a look; the texts are those of advice.yaml."""

from dataclasses import dataclass
from importlib import resources
from typing import Any

import yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a fault means, and what to do about it. noun: of what is counted; status: of its pages or files."""

    title: str
    remedy: str
    status: str
    noun: str = "page"


_TABLES: dict[str, Any] = yaml.safe_load(
    resources.files("pipeline.html_report").joinpath("advice.yaml").read_text(encoding="utf-8")
)
FAILED: dict[str, list[str]] = _TABLES["failed"]
DOUBTFUL: list[list[str]] = _TABLES["doubtful"]


def advice_for(status: str, category: str | None, reason: str | None) -> Advice:
    """Returns the advice for a page, or for a file without pages ("encrypted" or "broken").

    category: of a failed page's error; reason: its error's message or its doubt.
    """
    if status == "doubtful":
        title, remedy = next(found for words, *found in DOUBTFUL if words in (reason or ""))
    elif status in _TABLES["statuses"]:
        title, remedy = _TABLES["statuses"][status]
    else:
        title, remedy = FAILED.get(category or "", FAILED["other"])
    remedy = remedy.replace("AGAIN", _TABLES["texts"]["again"])
    noun = "file" if status in ("encrypted", "broken") else "page"
    return Advice(title=title, remedy=remedy, status=status, noun=noun)
