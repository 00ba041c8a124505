"""The makers of all kinds of blocks by their names, which genres.yaml gives shares."""

from ocr.training.pages.blocks.block_templates import macro, templates
from ocr.training.pages.blocks.contents import contents, index
from ocr.training.pages.blocks.listings import code, shell
from ocr.training.pages.blocks.page_writer import ROMAN, Maker, Writer
from ocr.training.pages.blocks.records import wrapped
from ocr.training.pages.blocks.slips import amount, slip
from ocr.training.pages.blocks.tables import grid, table
from ocr.training.pages.genres import GENRES

_AROUND = ("header", "footer", "footnotes", "margin_note", "line_numbers")
_NAMED = sorted({name for genre in GENRES for name in (*_AROUND, *genre.blocks, *genre.first)})
MAKERS: dict[str, Maker] = {name: macro(name) for name in _NAMED} | {
    make.__name__: make for make in (code, contents, index, shell, slip, table, wrapped)
}
templates.globals.update(ROMAN=ROMAN[:12], amount=amount, grid=grid, table=table, wrapped=wrapped)


def block(name: str, w: Writer) -> str:
    """Returns a block behind a comment with its maker's name, which tells readers of the markup what it is."""
    return f"<!--{name}-->{MAKERS[name](w)}"
