"""Makes printed matter: magazine and newspaper pages, and the open pages of a book."""

from tests.benchmarks.quality.sets.unseen.composed.canvas import Box, Canvas
from tests.benchmarks.quality.sets.unseen.composed.workshop import Workshop


def magazine(shop: Workshop) -> Canvas:
    """Makes a magazine page: headline, standfirst, photograph with caption, two or three columns, a pull quote."""
    rng = shop.rng
    size, columns = rng.uniform(8.2, 9.4), rng.choice([2, 3, 3])
    css = f"*{{font-family:body;font-size:{size}px;line-height:1.22}}"
    css += ".h{font-family:head;font-size:30px;line-height:1}"
    css += ".c,.f{font-family:sans;font-size:7px} .q{font-family:head;font-size:15px;line-height:1.1}"
    css += " .s{font-size:12px;font-style:italic} p.b{text-align:justify;text-indent:9px}"
    page = shop.canvas(560, 740, css, body="text", head="head", sans="sans")
    left, right = 42.0, 518.0
    y = page.put(f"<p class=f>{shop.headline(2).upper()}</p>", (left, 26, right, 40))
    y = page.put(f"<p class=h>{shop.headline(6)}</p>", (left, y + 12, right, y + 110))
    y = page.put(f"<p class=s>{_short(shop, 150)}</p>", (left, y + 6, right, y + 80))
    y = page.put(f"<p class=f>BY {shop.invented.name().upper()}</p>", (left, y + 6, right, y + 30))
    high = rng.uniform(120, 190)
    wide = right if rng.random() < 0.6 else left + (right - left) * (columns - 1) / columns - 8
    page.picture(
        (left, y + 8, wide, y + 8 + high),
        shop.photograph(round((wide - left) * 2.5), round(high * 2.5), grey=rng.random() < 0.3),
    )
    y = page.put(f"<p class=c>{_short(shop, 90)}</p>", (left, y + high + 11, wide, y + high + 40)) + 8
    boxes = _columns(left, right, y, 700, columns, 14)
    quote = boxes[-1]
    middle = (quote[1] + quote[3]) / 2
    boxes[-1:] = [(quote[0], quote[1], quote[2], middle - 38)]
    page.put(_body(shop, 14), *boxes)
    page.rule((quote[0], middle - 32, quote[2], middle - 32), 1.5)
    y = page.put(f"<p class=q>{_short(shop, 70)}</p>", (quote[0], middle - 26, quote[2], middle + 60))
    page.put(_body(shop, 8), (quote[0], y + 10, quote[2], 700))
    page.put(
        f"<p class=f>{rng.randint(8, 120)}   {shop.headline(2).upper()} MONTHLY</p>", (left, 712, right, 735)
    )
    return page


def newspaper(shop: Workshop) -> Canvas:
    """Makes a newspaper page: a nameplate and three stories, each in its own columns."""
    rng = shop.rng
    size = rng.uniform(6.8, 7.6)
    css = f"*{{font-family:body;font-size:{size}px;line-height:1.13}}"
    css += ".n{font-family:head;font-size:38px;line-height:1}"
    css += ".h{font-family:head;font-size:21px;line-height:1.05} .k{font-family:head;font-size:14px;line-height:1.05}"
    page = shop.canvas(
        680,
        960,
        css + " p.b{text-align:justify;text-indent:7px} .c{font-size:6.5px}",
        body="text",
        head="head",
    )
    made, left, right = shop.invented, 34.0, 646.0
    y = page.put(
        f"<p class=n style='text-align:center'>The {made.one('town')} Courier</p>", (left, 26, right, 90)
    )
    page.rule((left, y + 4, right, y + 4), 1)
    y = page.put(
        f"<p style='text-align:center'>No. {made.digits(4)} — {made.date()} — Price {rng.randint(2, 9)}d.</p>",
        (left, y + 7, right, y + 30),
    )
    page.rule((left, y + 3, right, y + 3), 1)
    half = y + (930 - y) * rng.uniform(0.42, 0.5)
    middle = left + (right - left) * 3 / 5
    _story(shop, page, (left, y + 10, middle - 6, half), 3, "h", photograph=True)
    page.rule((middle, y + 10, middle, half), 0.5)
    _story(shop, page, (middle + 6, y + 10, right, half), 2, "k")
    page.rule((left, half + 6, right, half + 6), 0.8)
    _story(shop, page, (left, half + 12, right, 935), 5, "h")
    return page


def spread(shop: Workshop) -> Canvas:
    """Makes the two facing pages of a book as a scanner sees them: running heads, folios, perhaps a chapter."""
    rng = shop.rng
    size = rng.uniform(8.6, 10.2)
    css = f"*{{font-family:body;font-size:{size}px;line-height:{rng.uniform(1.18, 1.34)}}}"
    page = shop.canvas(
        760, 560, css + ".h{font-size:17px} p.b{text-align:justify;text-indent:12px}", body="text"
    )
    first, title = 2 * rng.randint(4, 180), shop.headline(4).upper()
    for side, number in enumerate((first, first + 1)):
        left, right = (48.0, 348.0) if side == 0 else (412.0, 712.0)
        head = f"{number} {title}" if side == 0 else f"{title} {number}"
        align = "left" if side == 0 else "right"
        page.put(f"<p style='text-align:{align}'>{head}</p>", (left, 30, right, 48))
        top = 56.0
        if side and rng.random() < 0.4:
            top = page.put(
                f"<p class=h style='text-align:center'>{shop.headline(3)}</p>", (left, 110, right, 150)
            )
            top += 16
        page.put(_body(shop, 9), (left, top, right, 522))
    return page


def _story(
    shop: Workshop, page: Canvas, box: Box, columns: int, style: str, *, photograph: bool = False
) -> None:
    left, top, right, bottom = box
    y = page.put(f"<p class={style}>{shop.headline(7)}</p>", (left, top, right, top + 70)) + 6
    if photograph:
        high = 110.0
        page.picture(
            (left, y, right, y + high), shop.photograph(round((right - left) * 2), round(high * 2), grey=True)
        )
        y = page.put(f"<p class=c>{_short(shop, 80)}</p>", (left, y + high + 2, right, y + high + 24)) + 5
    page.put(_body(shop, 24), *_columns(left, right, y, bottom, columns, 9))


def _columns(left: float, right: float, top: float, bottom: float, count: int, gap: float) -> list[Box]:
    width = (right - left - gap * (count - 1)) / count
    return [
        (left + place * (width + gap), top, left + place * (width + gap) + width, bottom)
        for place in range(count)
    ]


def _body(shop: Workshop, count: int) -> str:
    return "".join(f"<p class=b>{text}</p>" for text in shop.paragraphs(count))


def _short(shop: Workshop, most: int) -> str:
    return shop.paragraphs(1)[0][:most].rsplit(" ", 1)[0].rstrip(" ,;:—") + "."
