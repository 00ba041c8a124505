"""Makes what lies on a desk: till receipts, business letters and filled-in forms."""

from tests.benchmarks.quality.sets.unseen.composed.canvas import Box, Canvas
from tests.benchmarks.quality.sets.unseen.composed.workshop import Workshop

A4 = (595.0, 842.0)


def receipt(shop: Workshop) -> Canvas:
    """Makes a till receipt of 80 or 58 mm: shop, goods, sums, tax, card and barcode."""
    rng, made = shop.rng, shop.invented
    columns, width = rng.choice([(42, 226.0), (32, 164.0), (36, 200.0)])
    goods = [(name, rng.randrange(29, 4999)) for name in made.some("goods", rng.randint(4, 15))]
    total = sum(pence for _, pence in goods)
    paid = rng.choice(["CONTACTLESS", "CHIP & PIN", "CASH TENDERED", "GIFT CARD"])
    lines = [
        _middle(made.company().upper(), columns),
        *(_middle(line, columns) for line in made.address()),
        _middle(f"TEL {made.phone()}", columns),
        _middle(f"VAT REG {made.digits(3)} {made.digits(4)} {made.digits(2)}", columns),
        "",
        _sides(f"TILL {rng.randint(1, 9)} OP {made.digits(3)}", f"TRN {made.digits(5)}", columns),
        _sides(
            f"{rng.randint(1, 28):02}/{rng.randint(1, 12):02}/{rng.randint(96, 99)}",
            f"{rng.randint(8, 20):02}:{rng.randint(0, 59):02}",
            columns,
        ),
        "-" * columns,
        *(_sides(name.upper(), f"{pence / 100:.2f}", columns) for name, pence in goods),
        "-" * columns,
        _sides(f"BALANCE DUE  {len(goods)} ITEMS", f"£{total / 100:.2f}", columns),
        _sides(paid, f"{total / 100:.2f}", columns),
        "",
        _sides("VAT 20.0% INCLUDED", f"{total / 600:.2f}", columns),
        _middle(f"AUTH {made.digits(6)}  CARD ENDING {made.digits(4)}", columns),
        "",
        _middle(f"YOU WERE SERVED BY {made.one('given').upper()}", columns),
        _middle("RETAIN FOR REFUND WITHIN 28 DAYS", columns),
    ]
    size = (width - 20) / columns / 0.6
    height = len(lines) * size * 1.3 + 90
    page = shop.canvas(
        width, height, f"pre{{font-family:till;font-size:{size}px;line-height:1.25;margin:0}}", till="till"
    )
    bottom = page.put(f"<pre>{_escape(chr(10).join(lines))}</pre>", (8, 14, width + 60, height))
    _barcode(page, shop, (width * 0.2, bottom + 8, width * 0.8, bottom + 40))
    return page


def letter(shop: Workshop) -> Canvas:
    """Makes a business letter with letterhead, signature and, mostly, a stamp of the receiver."""
    rng, made = shop.rng, shop.invented
    typed = rng.random() < 0.4
    size = rng.uniform(9.5, 11.5)
    css = f"*{{font-family:body;font-size:{size}px}} .h{{font-family:head;font-size:{rng.uniform(17, 26)}px}}"
    page = shop.canvas(
        *A4, css + ".s{font-size:7.5px}", body="typed" if typed else rng.choice(["text", "sans"]), head="head"
    )
    firm, left, right = made.company(), rng.uniform(58, 80), rng.uniform(515, 540)
    align = rng.choice(["left", "center", "right"])
    y = page.put(f"<p class=h style='text-align:{align}'>{_escape(firm)}</p>", (left, 40, right, 90))
    contact = f"{', '.join(made.address())} · Telephone {made.phone()}"
    y = page.put(f"<p class=s style='text-align:{align}'>{contact}</p>", (left, y + 2, right, y + 30)) + 8
    page.rule((left, y, right, y), rng.choice([0.5, 1.2]))
    reader = made.name()
    y = page.put(f"<p>{'<br>'.join([reader, *made.address()])}</p>", (left, y + 28, right, y + 160))
    y = page.put(f"<p>{made.date()}</p>", (left, y + 14, right, y + 60))
    y = page.put(f"<p>Our ref: {made.code()}</p>", (left, y + 4, right, y + 60))
    y = page.put(f"<p>Dear {reader.split(' ', 1)[1]},</p>", (left, y + 14, right, y + 60))
    y = page.put(f"<p><b>Re: {made.one('topic')}</b></p>", (left, y + 10, right, y + 60))
    for _ in range(rng.randint(2, 4)):
        y = page.put(f"<p>{_escape(made.paragraph(rng.randint(2, 4)))}</p>", (left, y + 8, right, 680))
    y = page.put("<p>Yours sincerely,</p>", (left, y + 12, right, y + 60))
    writer = made.name()
    page.picture((left, y + 4, left + 150, y + 48), shop.pen(writer, 90))
    y = page.put(
        f"<p>{writer}<br>{rng.choice(['Secretary', 'Accounts', 'Manager'])}</p>", (left, y + 50, right, 790)
    )
    if rng.random() < 0.8:
        x = rng.uniform(340, 400)
        page.picture((x, 120, x + 140, 205), shop.stamp(f"RECEIVED\n{made.date().upper()}"))
    foot = f"Registered in England {made.digits(7)}. Bankers: {_escape(made.company())}, sort code {made.digits(6)}."
    page.put(f"<p class=s style='text-align:center'>{foot}</p>", (left, 800, right, 835))
    return page


def form(shop: Workshop) -> Canvas:
    """Makes a form with boxes, typed answers and ticks."""
    rng, made = shop.rng, shop.invented
    css = f"*{{font-family:label;font-size:{rng.uniform(6.8, 8)}px}} .t{{font-size:15px;font-weight:bold}}"
    page = shop.canvas(*A4, css + ".a{font-family:answer;font-size:10px}", label="sans", answer="typed")
    left, right, y = 45.0, 550.0, 44.0
    y = page.put(f"<p class=t>{_escape(made.company())}</p>", (left, y, right, y + 40))
    y = page.put(
        f"<p>Form {made.code()} — complete in block capitals and return to {', '.join(made.address())}</p>",
        (left, y + 3, right, y + 40),
    )
    labels = made.some("field", rng.randint(17, 24))
    y += 10
    number = 1
    while labels and y < 720:
        across = min(rng.choice([1, 2, 2, 3]), len(labels))
        height = rng.uniform(27, 36)
        for place in range(across):
            x0 = left + (right - left) * place / across
            x1 = left + (right - left) * (place + 1) / across
            page.rule((x0, y, x1, y + height), 0.6)
            label = labels.pop()
            page.put(f"<p>{number}. {label}</p>", (x0 + 3, y + 2, x1, y + 14))
            answer = _answer(shop, label)
            if answer:
                page.put(f"<p class=a>{_escape(answer)}</p>", (x0 + 8, y + 13, x1 + 40, y + height + 6))
            number += 1
        y += height
    y += 12
    for text in ("I have read the notes overleaf", "I enclose a copy of the policy", "Send me the leaflet"):
        _box(page, shop, (left, y, left + 9, y + 9))
        y = page.put(f"<p>{text}</p>", (left + 15, y, right, y + 20)) + 5
    page.picture((left + 250, y - 8, left + 400, y + 30), shop.pen(made.name(), 90))
    page.put("<p>OFFICE USE ONLY</p>", (left, y + 22, right, y + 44))
    page.rule((left, y + 18, right, y + 52), 1.2)
    return page


def _answer(shop: Workshop, label: str) -> str:
    made = shop.invented
    if shop.rng.random() < 0.15 or label.startswith("Signature"):
        return ""
    if label.startswith(("Date",)):
        return made.date()
    if label.endswith(("address", "incident")):
        return ", ".join(made.address()[:2])
    if label in ("Surname", "Forenames", "Witness", "Next of kin", "Doctor"):
        return made.name().upper() if shop.rng.random() < 0.5 else made.name()
    if "income" in label or "Amount" in label:
        return made.money()
    if "telephone" in label:
        return made.phone()
    return shop.rng.choice([made.code(), made.digits(8), made.company(), made.one("town")])


def _box(page: Canvas, shop: Workshop, box: Box) -> None:
    page.rule(box, 0.8)
    if shop.rng.random() < 0.5:
        page.rule((box[0] + 2, box[1] + 2, box[2] - 2, box[3] - 2), 0.5, (20, 20, 60), (20, 20, 60))


def _barcode(page: Canvas, shop: Workshop, box: Box) -> None:
    x = box[0]
    while x < box[2]:
        width = shop.rng.choice([0.8, 1.6, 2.4])
        page.rule((x, box[1], x + width, box[3]), 0.2, (0, 0, 0), (0, 0, 0))
        x += width + shop.rng.choice([0.9, 1.7, 2.5])


def _middle(text: str, columns: int) -> str:
    return text[:columns].center(columns).rstrip()


def _sides(left: str, right: str, columns: int) -> str:
    return left[: columns - len(right) - 1].ljust(columns - len(right)) + right


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
