"""Blocks of HTML as templates: the macros of blocks.jinja, each a maker of one kind of block; and lists of words."""

import html
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FunctionLoader
from jinja2.environment import TemplateModule

_BREAK = re.compile(r"\n\s*")
_FOLDER = Path(__file__).parent


def small_capitals(words: str) -> str:
    """Returns the words in capitals, all but the first of each word smaller. words: escaped."""
    made = []
    for word in html.unescape(words).split(" "):
        upper = word.upper() if len(word.upper()) == len(word) else word
        made.append(f"{html.escape(upper[:1])}<small>{html.escape(upper[1:])}</small>")
    return " ".join(made)


def spaced_capitals(words: str) -> str:
    """Returns letterspaced capitals, with hair spaces, which are no part of the text."""
    text = html.unescape(words).upper()
    return "\u00a0 ".join(html.escape("\u200a".join(word)) for word in text.split(" "))


def _upper_case(words: str) -> str:
    return html.escape(html.unescape(words).upper())


def listed(name: str) -> Any:
    """Returns what a YAML file of this folder holds."""
    return yaml.safe_load((_FOLDER / name).read_text(encoding="utf-8"))


LISTS: Mapping[str, list[str]] = listed("lists.yaml")


def without_breaks(name: str) -> str:
    """Returns a template of this folder, whose line breaks and indents are its own alone."""
    return _BREAK.sub("", (_FOLDER / name).read_text(encoding="utf-8"))


templates = Environment(loader=FunctionLoader(without_breaks), extensions=["jinja2.ext.do"])
templates.filters |= {
    "small_capitals": small_capitals, "spaced_capitals": spaced_capitals, "upper_case": _upper_case,
}  # fmt: skip


@cache
def _macros() -> TemplateModule:
    return templates.get_template("blocks.jinja").module


def macro(name: str) -> Callable[..., str]:
    """Returns what writes a kind of block, given the page's Writer."""

    def made(*args: Any) -> str:
        return str(getattr(_macros(), name)(*args))

    return made
