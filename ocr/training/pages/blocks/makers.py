"""The makers of all kinds of blocks by their names, which genres.yaml gives shares."""

from ocr.training.pages.blocks.block_templates import macro, templates
from ocr.training.pages.blocks.contents import contents, index
from ocr.training.pages.blocks.listings import code, shell
from ocr.training.pages.blocks.page_writer import ROMAN, Maker, Writer
from ocr.training.pages.blocks.records import wrapped
from ocr.training.pages.blocks.slips import amount, slip
from ocr.training.pages.blocks.tables import grid, table

_MACROS = (
    "abstract", "boxed", "bullets", "capitals", "clauses", "closing", "definitions", "derivation", "display", "entry",
    "figure", "filled_grid", "footer", "footnotes", "form", "header", "heading", "invoice", "keyed", "labels",
    "large_print", "letter", "logo", "long_paragraph", "magazine", "mail", "margin_note", "marked", "mathematics",
    "names", "paragraph", "parallel", "quotation", "reference", "rule", "short_lines", "small_print", "title",
)  # fmt: skip
MAKERS: dict[str, Maker] = {
    **{make.__name__: make for make in (code, contents, index, shell, slip, table, wrapped)},
    **{name: macro(name) for name in _MACROS},
}
templates.globals.update(ROMAN=ROMAN[:12], amount=amount, grid=grid, table=table, wrapped=wrapped)


def block(name: str, w: Writer) -> str:
    """Returns a block behind a comment with its maker's name, which tells readers of the markup what it is."""
    return f"<!--{name}-->{MAKERS[name](w)}"
