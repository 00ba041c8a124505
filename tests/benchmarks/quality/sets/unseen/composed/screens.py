"""Makes what a screen shows: slides and windows of programs."""

from tests.benchmarks.quality.sets.unseen.composed.canvas import Canvas, Colour
from tests.benchmarks.quality.sets.unseen.composed.workshop import Workshop

_SCHEMES: tuple[tuple[Colour, str, Colour], ...] = (
    ((255, 255, 255), "#111", (214, 222, 235)),
    ((28, 40, 66), "#f2f2f2", (60, 84, 130)),
    ((246, 241, 228), "#40210f", (201, 140, 82)),
    ((35, 38, 41), "#e6e6e6", (72, 78, 84)),
)


def slide(shop: Workshop) -> Canvas:
    """Makes a slide: title, bullets or a bar chart with its figures, footer."""
    rng, made = shop.rng, shop.invented
    paper, ink, accent = rng.choice(_SCHEMES[:3])
    css = f"*{{font-family:body;color:{ink};font-size:{rng.uniform(17, 22)}px}} .t{{font-family:head;font-size:34px}}"
    page = shop.canvas(720, 405, css + ".s{font-size:9px} li{margin-bottom:8px}", body="sans", head="head")
    page.paper = paper
    page.rule((0, 0, 720, 14), 0.1, accent, accent)
    y = page.put(f"<p class=t>{shop.headline(5)}</p>", (44, 30, 676, 120)) + 14
    if rng.random() < 0.6:
        points = [_point(shop) for _ in range(rng.randint(3, 5))]
        page.put("<ul>" + "".join(f"<li>{point}</li>" for point in points) + "</ul>", (30, y, 676, 370))
    else:
        _chart(shop, page, y, accent)
    page.put(f"<p class=s>{made.company().replace('&', '&amp;')} — {made.date()}</p>", (44, 380, 600, 400))
    page.put(f"<p class=s>{rng.randint(2, 60)}</p>", (660, 380, 700, 400))
    return page


def screenshot(shop: Workshop) -> Canvas:
    """Makes a program's window: title, menu, a list at the left, a table or settings, buttons, status line."""
    rng, made = shop.rng, shop.invented
    paper, ink, accent = rng.choice(_SCHEMES)
    css = (
        f"*{{font-family:body;color:{ink};font-size:{rng.choice([9, 9.75, 10.5])}px}} .b{{font-weight:bold}}"
    )
    width, height = rng.choice([(960.0, 600.0), (768.0, 576.0)])
    page = shop.canvas(width, height, css, body="sans")
    page.paper = paper
    page.rule((0, 0, width, 22), 0.1, accent, accent)
    page.put(f"<p class=b>{shop.headline(3)} — {made.one('town')}</p>", (10, 5, width - 100, 22))
    _row(page, made.some("menu", 5), 10, 28, 74)
    page.rule((0, 44, width, 44), 0.75, accent)
    y = 52.0
    for text in (made.one("company") for _ in range(rng.randint(7, 12))):
        y = page.put(f"<p>{text.replace('&', '&amp;')}</p>", (12, y, 180, y + 30)) + 7
    page.rule((182, 44, 182, height - 24), 0.75, accent)
    if rng.random() < 0.5:
        y = _table(shop, page, width)
    else:
        y = 60.0
        for text in made.some("setting", rng.randint(6, 9)):
            page.rule((204, y, 214, y + 10), 0.75, accent, accent if rng.random() < 0.5 else None)
            y = page.put(f"<p>{text}</p>", (222, y - 1, width, y + 20)) + 10
        y = page.put(f"<p>{_point(shop)}.</p>", (204, y + 8, width - 40, y + 60))
    for place, text in enumerate(made.some("button", 2)):
        x = width - 200 + 95 * place
        page.rule((x, height - 58, x + 85, height - 36), 0.75, accent)
        page.put(f"<p style='text-align:center'>{text}</p>", (x, height - 53, x + 85, height - 36))
    page.rule((0, height - 24, width, height - 24), 0.75, accent)
    page.put(f"<p>{rng.randint(3, 900)} records, {made.money()}</p>", (10, height - 18, width, height))
    return page


def _table(shop: Workshop, page: Canvas, width: float) -> float:
    made, y = shop.invented, 54.0
    columns = [204.0, 330.0, 480.0, 600.0]
    for row in range(shop.rng.randint(9, 16)):
        cells = (
            ["Holder", "Town", "Opened", "Sum"]
            if not row
            else [made.name(), made.one("town"), made.date(), made.money()]
        )
        ends = [*columns[1:], width - 10]
        for x, end, cell in zip(columns, ends, cells, strict=True):
            page.put(f"<p{' class=b' if not row else ''}>{cell}</p>", (x, y, end, y + 16))
        y += 20
    return y


def _chart(shop: Workshop, page: Canvas, top: float, accent: Colour) -> None:
    made = shop.invented
    for town in made.some("town", 4):
        share = shop.rng.uniform(0.2, 0.95)
        page.put(f"<p>{town}</p>", (44, top, 250, top + 40))
        page.rule((250, top + 2, 250 + 330 * share, top + 24), 0.5, accent, accent)
        page.put(f"<p>{100 * share:.1f}%</p>", (260 + 330 * share, top, 716, top + 40))
        top += 52


def _row(page: Canvas, texts: list[str], x: float, y: float, step: float) -> None:
    for text in texts:
        page.put(f"<p>{text}</p>", (x, y, x + step, y + 16))
        x += step


def _point(shop: Workshop) -> str:
    return shop.headline(shop.rng.randint(5, 11))
