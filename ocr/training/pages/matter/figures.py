"""Pictures on a page of text: figures with their captions, photographs between paragraphs, marks and logos."""

from ocr.training.pages.matter.page_writer import Writer

_LABELS = ["Figure", "Figure", "Fig.", "Abb.", "FIGURE", "Plate", "Abbildung"]


def _picture(w: Writer, width_pt: float, height_pt: float, align: str) -> str:
    """Returns a new picture, at screen resolution."""
    name, scale = f"picture{len(w.images)}", w.rng.uniform(1.0, 1.8)
    w.images[name] = w.pictures.png(w.rng, max(8, int(width_pt * scale)), max(8, int(height_pt * scale)))
    style = f"width:{width_pt:.1f}pt;height:{height_pt:.1f}pt"
    return f'<p style="text-align:{align};text-indent:0"><img src="{name}" style="{style}"></p>'


def figure(w: Writer) -> str:
    """Returns a picture of up to the column's width, mostly with a caption below or above."""
    rng = w.rng
    width = w.width_pt * rng.uniform(0.35, 0.98)
    height = min(width * rng.uniform(0.3, 1.0), 260.0)
    made = _picture(w, width, height, rng.choice(["center", "center", "left"]))
    if w.chance(0.25):
        return made
    label = w.label(rng.choice(_LABELS), 40)
    label = f"<b>{label}</b>" if w.chance(0.4) else label
    text = w.words(2, 12) if w.chance(0.6) else w.text(240)
    caption = f"<p class=caption>{label} {text}</p>"
    return made + caption if w.chance(0.85) else caption + made


def logo(w: Writer) -> str:
    size = w.size_pt * w.rng.uniform(2.0, 6.0)
    return _picture(w, size * w.rng.uniform(1.0, 2.5), size, w.rng.choice(["left", "center", "right"]))
