"""Every fault has advice, and what the advice names is there."""

import re
import shlex

import pytest

from pipeline.cli.main import cli
from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.html_report.gather import DOUBTFUL, FAILED, advice_for
from pipeline.outcome import doubt
from storage.types import LOST_CATEGORIES, PROCESS_DIED

TEXTS = [
    *(remedy for _, remedy in FAILED.values()),
    *(remedy for _, _, remedy in DOUBTFUL),
    *(
        advice_for(status, None, None).remedy
        for status in ("truncated", "repeated", "failed", "doubtful", "broken", "encrypted")
    ),
]
SPANS = sorted({span for text in TEXTS for span in re.findall(r"`([^`]+)`", text)})


@pytest.mark.parametrize(
    "category",
    [*LOST_CATEGORIES, PROCESS_DIED, "broken", "timeout", "crash", "memory", "changed", "internal"],
)
def test_a_category_has_advice_of_its_own(category: str) -> None:
    assert advice_for("failed", category, "why") != advice_for("failed", "no such", "why")


def test_what_is_unknown_has_advice_too() -> None:
    assert "message" in advice_for("failed", "no such", "why").remedy
    assert advice_for("doubtful", None, "no such reason").remedy
    assert advice_for("doubtful", None, None).remedy


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("confidence 0.21 below 0.4", "low confidence"),
        (doubt.NONE_READ, "none of it was read"),
        (
            f"most of its marks were not read: handwriting, perhaps, or a drawing; {doubt.NONE_READ}",
            "handwriting",
        ),
        ("in a script that the model was not trained for (Deva)", "script"),
        ("4 letters were read where 3 stand", "another number of letters"),
        ("not all of the picture can be decoded: its JPEG data ends early", "could not be drawn"),
        ("confidence 0.21 below 0.4; in a script that the model was not trained for (Arab)", "script"),
    ],
)
def test_a_doubt_has_the_advice_for_its_reason(reason: str, words: str) -> None:
    assert words in advice_for("doubtful", None, reason).title


def test_keys_and_commands_in_advice_are_there() -> None:
    keys = [span for span in SPANS if re.fullmatch(r"[a-z]+\.[a-z_]+(=\d+)?", span)]
    commands = [span for span in SPANS if span.startswith("ocrbatch ")]
    assert len(keys) > 8
    assert len(commands) > 1
    for key in keys:
        section, name = key.split("=")[0].split(".")
        assert hasattr(getattr(Config(), section), name), key
    for command in commands:
        _, name, *arguments = shlex.split(command)
        if arguments:
            sources.load(None, cli.commands[name].make_context(name, arguments).params["sets"])
