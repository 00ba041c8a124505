"""Renders a page's markdown as HTML that shows and does nothing: every tag is one of ours, every text is escaped.

markdown-it-py parses with HTML switched off; what it takes for a link is one to http, https or mailto; no image is
loaded. Tables written as HTML are read and written anew. Single line ends stay, as do formulas.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from storage.export.figures import Shown
from storage.export.tables import Cell, Table, parts
from storage.export.templated import clean

# The last is a figure of the page, which is embedded or named, not loaded.
_SHOWN_LINK = re.compile(r"(?:https?|mailto):|images/\d+_\d+\.jpg$", re.IGNORECASE)
_FORMAT_TAG = re.compile(r"(<(?:/?(?:sub|sup|b|i|u|em|strong)|br\s?/?)>)", re.IGNORECASE)
_WORD = re.compile(r"(\S+)")
# Turns a word, not yet escaped, into HTML.
Show = Callable[[str], str]


def rendered(markdown: str, show: Show = escape, figures: Mapping[str, Shown] | None = None) -> str:
    """Returns the markdown as HTML. show: what to make of each word, in order; it must escape it.

    figures: reference -> figure, with a data URL; each is shown once, others are named.
    """
    env = {"show": show, "figures": dict(figures or {})}
    return "".join(
        _table(part, show)
        if isinstance(part, Table)
        else _parser().renderer.render(_parser().parse(part), _parser().options, env)
        for part in parts(clean(markdown))
    )


def _inline(markdown: str, show: Show) -> str:
    parser = _parser()
    return str(parser.renderer.render(parser.parseInline(markdown), parser.options, {"show": show}))


def _table(table: Table, show: Show) -> str:
    lines = [f"<caption>{_inline(table.caption, show)}</caption>\n"] if table.caption else []
    lines += [f"<tr>{''.join(_cell(cell, show) for cell in row)}</tr>\n" for row in table.rows]
    return f'<div class="table"><table>\n{"".join(lines)}</table></div>\n'


def _cell(cell: Cell, show: Show) -> str:
    tag = "th" if cell.is_heading else "td"
    spans = f' colspan="{cell.num_columns}"' if cell.num_columns > 1 else ""
    spans += f' rowspan="{cell.num_rows}"' if cell.num_rows > 1 else ""
    return f"<{tag}{spans}>{_inline(cell.text, show)}</{tag}>"


def tables(markdown: str) -> list[Table]:
    """Returns all tables of the markdown in order, those with bars too."""
    found: list[Table] = []
    for part in parts(clean(markdown)):
        found += [part] if isinstance(part, Table) else _barred(part)
    return found


def _barred(markdown: str) -> list[Table]:
    found: list[Table] = []
    rows: list[tuple[Cell, ...]] = []
    row: list[Cell] = []
    tag = ""
    for token in _parser().parse(markdown) if "|" in markdown else ():
        if token.type in ("th_open", "td_open"):
            tag = token.tag
        elif token.type == "inline" and tag:
            row.append(Cell(text=token.content, is_heading=tag == "th"))
            tag = ""
        elif token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            rows.append(tuple(row))
        elif token.type == "table_close":
            found.append(Table(rows=tuple(rows)))
            rows = []
    return found


@cache
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # Indentation and rules below lines are layout on a page, not code and headings.
    made.disable(["code", "lheading", "reference"])
    made.inline.ruler.before("escape", "formula", _formula)
    made.validateLink = lambda url: bool(_SHOWN_LINK.match(url))  # type: ignore[method-assign]
    for name, rule in _RULES.items():
        made.add_render_rule(name, rule)
    return made


def _formula(state: StateInline, silent: bool) -> bool:
    r"""Takes \( ... \) and \[ ... \] as they are: markdown would drop the backslashes."""
    closing = {"\\(": "\\)", "\\[": "\\]"}.get(state.src[state.pos : state.pos + 2])
    end = -1 if closing is None else state.src.find(closing, state.pos + 2, state.pos + 5_000)
    if end < 0:
        return False
    if not silent:
        state.push("formula", "code", 0).content = state.src[state.pos : end + 2]
    state.pos = end + 2
    return True


def _shown(text: str, show: Show) -> str:
    return "".join(show(part) if index % 2 else escape(part) for index, part in enumerate(_WORD.split(text)))


def _inline_rule(_self: Any, tokens: Sequence[Token], at: int, _options: Any, env: Any) -> str:
    """Writes text; tags that only format are tags where they are closed within it."""
    pieces = _FORMAT_TAG.split(tokens[at].content)
    kept = _closed(pieces)
    return "".join(
        piece.lower().replace(" ", "") if index in kept else _shown(piece, env["show"])
        for index, piece in enumerate(pieces)
    )


def _closed(pieces: Sequence[str]) -> set[int]:
    """Returns which pieces are tags that open and close in order."""
    kept: set[int] = set()
    opened: list[tuple[str, int]] = []
    for index in range(1, len(pieces), 2):
        name = pieces[index].strip("</ >").lower()
        if name == "br":
            kept.add(index)
        elif not pieces[index].startswith("</"):
            opened.append((name, index))
        elif opened and opened[-1][0] == name:
            kept |= {index, opened.pop()[1]}
    return kept


def _code(_self: Any, tokens: Sequence[Token], at: int, _options: Any, env: Any) -> str:
    code = f"<code>{_shown(tokens[at].content, env['show'])}</code>"
    return f"<pre>{code}</pre>\n" if tokens[at].type == "fence" else code


def _figure(_self: Any, tokens: Sequence[Token], at: int, _options: Any, env: Any) -> str:
    # Once: a page could refer to its own figure a thousand times.
    shown = env.get("figures", {}).pop(str(tokens[at].attrGet("src")), None)
    if shown is not None and shown.url is not None:
        return f'<img src="{escape(shown.url)}" alt="{escape(clean(shown.alt))}">'
    alt = tokens[at].content or ("figure" if shown is None else clean(shown.alt))
    return f'<span class="figure">[{escape(alt)}]</span>'


def _heading(self: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    """Writes a heading two levels deeper: the document's and the page's own are above it."""
    level = min(int(tokens[at].tag[1:]) + 2, 6)
    return f"<h{level}>" if tokens[at].nesting == 1 else f"</h{level}>\n"


def _link(_self: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    href = escape(str(tokens[at].attrGet("href") or ""))
    return f'<a href="{href}" rel="noopener noreferrer nofollow">'


def _open_table(_self: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    return '<div class="table"><table>\n' if tokens[at].nesting == 1 else "</table></div>\n"


_RULES: dict[str, Callable[..., str]] = {
    "text": _inline_rule,
    "formula": _code,
    "code_inline": _code,
    "fence": _code,
    "image": _figure,
    "heading_open": _heading,
    "heading_close": _heading,
    "link_open": _link,
    "table_open": _open_table,
    "table_close": _open_table,
}
