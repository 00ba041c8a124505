"""Takes pictures of pages as scanners, fax machines, thermal printers and telephones do. Pages are RGB."""

import io
import random

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter

_Field = npt.NDArray[np.float32]


def clean(page: Image.Image, rng: random.Random) -> Image.Image:
    return page


def compressed(page: Image.Image, rng: random.Random) -> Image.Image:
    """A screen saved as a small JPEG."""
    return jpeg(page, rng.randint(35, 60))


def office_scan(page: Image.Image, rng: random.Random) -> Image.Image:
    """A flat-bed scan: slight skew, soft edges, grain, tinted paper, punch holes, a dark edge; or one bit."""
    paper = Image.new("RGB", page.size, tuple(rng.randint(228, 250) for _ in range(3)))
    page = _darker(page, paper)
    if rng.random() < 0.4:
        _punch(page, rng)
    edge = rng.choice([250, 250, 20])
    page = page.rotate(rng.gauss(0, 0.6), Image.Resampling.BICUBIC, fillcolor=(edge, edge, edge))
    page = page.filter(ImageFilter.GaussianBlur(rng.uniform(0.3, 1.0)))
    pixels = _grain(page, rng, rng.uniform(2, 8))
    kind = rng.random()
    if kind < 0.35:
        return _one_bit(pixels, rng.uniform(0.5, 0.68))
    image = _image(pixels)
    return jpeg(image if kind < 0.6 else image.convert("L").convert("RGB"), rng.randint(45, 80))


def newsprint(page: Image.Image, rng: random.Random) -> Image.Image:
    """A scan of yellowed newsprint: dot gain, pale ink, the back showing through, pictures as halftone dots."""
    page = _halftone(page)
    page = page.filter(ImageFilter.MinFilter(3)) if rng.random() < 0.3 else page
    pixels = np.asarray(page.filter(ImageFilter.GaussianBlur(rng.uniform(0.5, 0.9))), np.float32)
    back = pixels[:, ::-1]
    back = np.roll(back, rng.randint(-60, 60), axis=0)
    ink = (255 - pixels) * rng.uniform(0.72, 0.88) + (255 - back) * rng.uniform(0.04, 0.12)
    tint = np.array([rng.uniform(0.9, 0.97), rng.uniform(0.84, 0.92), rng.uniform(0.7, 0.82)], np.float32)
    shade = 1 - 0.1 * _field(pixels.shape[:2], rng, 6)[..., None]
    worn = np.clip(255 - ink, 0, 255) * tint * shade
    return jpeg(_image(_grain(_image(worn), rng, rng.uniform(3, 9))), rng.randint(50, 80))


def glossy(page: Image.Image, rng: random.Random) -> Image.Image:
    """A colour scan of a magazine: halftone screen, slight skew, thin paper."""
    page = _halftone(page) if rng.random() < 0.5 else page
    page = page.rotate(rng.gauss(0, 0.4), Image.Resampling.BICUBIC, fillcolor=(235, 235, 235))
    page = page.filter(ImageFilter.GaussianBlur(rng.uniform(0.3, 0.8)))
    return jpeg(_image(_grain(page, rng, 3)), rng.randint(50, 85))


def book_scan(page: Image.Image, rng: random.Random) -> Image.Image:
    """An open book on glass: lines bend down into a dark gutter, the paper is old, the edges are black."""
    width, height = page.size
    x = np.arange(width, dtype=np.float32) / width - 0.5
    bend = rng.uniform(6, 22) * np.exp(-np.abs(x) / rng.uniform(0.04, 0.09))
    pixels = np.asarray(page, np.float32)
    rows = np.arange(height)[:, None] - np.rint(bend).astype(int)[None, :]
    bent = pixels[np.clip(rows, 0, height - 1), np.arange(width)[None, :]]
    shadow = 1 - rng.uniform(0.35, 0.7) * np.exp(-np.abs(x) / rng.uniform(0.012, 0.03))
    tint = np.array([0.97, rng.uniform(0.92, 0.97), rng.uniform(0.82, 0.94)], np.float32)
    image = _image(bent * shadow[None, :, None] * tint)
    draw, edge = ImageDraw.Draw(image), rng.randint(4, 26)
    draw.rectangle((0, 0, width, edge), fill=(12, 12, 12))
    draw.rectangle((0, 0, edge // 2, height), fill=(12, 12, 12))
    image = image.rotate(rng.gauss(0, 0.7), Image.Resampling.BICUBIC, fillcolor=(12, 12, 12))
    image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.4, 0.9)))
    pixels = _grain(image, rng, rng.uniform(3, 8))
    return _one_bit(pixels, 0.45) if rng.random() < 0.25 else jpeg(_image(pixels), rng.randint(50, 80))


def thermal(page: Image.Image, rng: random.Random) -> Image.Image:
    """A scanned thermal receipt: dots of the print head, faded bands, folds, on the scanner's lid."""
    grey = np.asarray(page.convert("L").filter(ImageFilter.GaussianBlur(rng.uniform(0.4, 0.9))), np.float32)
    height, width = grey.shape
    bands = 0.55 + 0.45 * _field((height, width), rng, 5)
    lines = np.where(np.random.default_rng(rng.randrange(2**32)).random(width) < 0.006, 0.35, 1.0)
    ink = (255 - grey) * bands * lines[None, :] * rng.uniform(0.6, 0.95)
    y = np.arange(height, dtype=np.float32)[:, None] / height
    fold = sum(16 * np.exp(-(((y - rng.random()) * 90) ** 2)) for _ in range(rng.randint(0, 3)))
    sheet = np.clip(rng.uniform(226, 246) - ink - fold, 0, 255).astype(np.float32)
    image = Image.fromarray(np.rint(sheet).astype(np.uint8)).convert("RGB")
    lid = rng.randint(200, 255)
    room = Image.new("RGB", (width + 120, height + 120), (lid, lid, lid))
    room.paste(image, (60, 60))
    room = room.rotate(rng.gauss(0, 1.2), Image.Resampling.BICUBIC, fillcolor=(lid, lid, lid))
    return jpeg(_image(_grain(room, rng, rng.uniform(2, 9))), rng.randint(40, 75))


def fax(page: Image.Image, rng: random.Random) -> Image.Image:
    """A fax of 204 x 98 dpi or, half of the time, 204 x 196: one bit, lost lines, added dots."""
    fine = rng.random() < 0.5
    dpi = (204, 196) if fine else (204, 98)
    turned = page.convert("L").rotate(rng.gauss(0, 0.5), Image.Resampling.BICUBIC, fillcolor=255)
    scale = 200.0
    size = (round(page.width * dpi[0] / scale), round(page.height * dpi[1] / scale))
    grey = np.asarray(turned.resize(size, Image.Resampling.BOX), np.float32)
    noise = np.random.default_rng(rng.randrange(2**32))
    bits = grey > rng.uniform(125, 185)
    bits ^= noise.random(bits.shape) < rng.choice([0.0002, 0.001, 0.003])
    for row in noise.integers(0, len(bits), rng.randint(0, 4)):
        bits[row] = bits[row - 1]
    image = Image.fromarray(bits)
    image.info["dpi"] = dpi
    return image


def telephone(page: Image.Image, rng: random.Random) -> Image.Image:
    """A photograph of the page on a table: perspective, uneven light, soft focus, grain."""
    width, height = page.size
    margin = round(0.07 * width)
    table = Image.new("RGB", (width + 2 * margin, height + 2 * margin), _wood(rng))
    table = _image(_grain(table.filter(ImageFilter.GaussianBlur(1)), rng, 6))
    table.paste(page, (margin, margin))
    full = table.size
    away = [rng.uniform(-0.04, 0.04) for _ in range(8)]
    corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    seen = [
        ((x + away[2 * i]) * full[0], (y + away[2 * i + 1]) * full[1]) for i, (x, y) in enumerate(corners)
    ]
    flat = [(x * full[0], y * full[1]) for x, y in corners]
    image = table.transform(
        full,
        Image.Transform.PERSPECTIVE,
        _homography(flat, seen),
        Image.Resampling.BICUBIC,
        fillcolor=(60, 50, 45),
    )
    image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.5, 1.3)))
    numbers = np.random.default_rng(rng.randrange(2**32))
    pixels = _uneven_light(np.asarray(image, np.float32), numbers)
    pixels = pixels * np.array([1.0, rng.uniform(0.94, 1), rng.uniform(0.82, 1)], np.float32)
    return jpeg(_image(_grain(_image(pixels), rng, rng.uniform(2, 7))), rng.randint(55, 80))


def jpeg(image: Image.Image, quality: int) -> Image.Image:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality)
    return Image.open(file).convert(image.mode)


def _homography(to: list[tuple[float, float]], of: list[tuple[float, float]]) -> list[float]:
    """Returns the eight coefficients that Pillow's PERSPECTIVE needs to move the points `of` to `to`."""
    rows, right = [], []
    for (x, y), (u, v) in zip(of, to, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    return [float(value) for value in np.linalg.solve(np.array(rows), np.array(right))]


def _halftone(page: Image.Image) -> Image.Image:
    """Returns the page with its middle greys as a screen of dots; type stays as it is."""
    pixels = np.asarray(page, np.float32)
    y, x = np.mgrid[0 : pixels.shape[0], 0 : pixels.shape[1]].astype(np.float32)
    screen = 127 + 60 * (np.sin((x + y) * 1.1) + np.sin((x - y) * 1.1))
    soft = np.asarray(page.filter(ImageFilter.GaussianBlur(4)), np.float32)
    busy = (np.abs(soft - 128) < 110) & (np.abs(soft - pixels) < 50)
    return _image(np.where(busy, 0.5 * pixels + 0.5 * np.where(pixels > screen[..., None], 255, 0), pixels))


def _one_bit(pixels: _Field, share: float) -> Image.Image:
    grey = pixels.mean(axis=2)
    dark, light = np.percentile(grey, [0.5, 90])
    return Image.fromarray(grey > dark + (light - dark) * share)


def _punch(page: Image.Image, rng: random.Random) -> None:
    draw, radius = ImageDraw.Draw(page), round(page.width * 0.013)
    for share in (0.36, 0.63):
        x, y = round(page.width * 0.045), round(page.height * share)
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=(rng.randint(5, 60),) * 3)


def _uneven_light(page: _Field, rng: np.random.Generator) -> _Field:
    """Adds a shadow from one side or corner: down to 45 to 70% of the light."""
    height, width = page.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    angle = rng.uniform(0, 2 * np.pi)
    along = np.cos(angle) * (x / width - 0.5) + np.sin(angle) * (y / height - 0.5)
    ramp = (along - along.min()) / (along.max() - along.min())
    light = 1 - (1 - rng.uniform(0.45, 0.7)) * ramp ** rng.uniform(1.0, 2.5)
    return np.clip(page * light[..., None].astype(np.float32), 0, 255).astype(np.float32)


def _wood(rng: random.Random) -> tuple[int, int, int]:
    return rng.choice([(120, 84, 56), (70, 66, 64), (160, 140, 118), (40, 44, 52)])


def _darker(page: Image.Image, paper: Image.Image) -> Image.Image:
    return _image(np.asarray(page, np.float32) * np.asarray(paper, np.float32) / 255)


def _field(shape: tuple[int, int], rng: random.Random, cells: int) -> _Field:
    """Returns a smooth field of 0 to 1."""
    coarse = np.random.default_rng(rng.randrange(2**32)).integers(0, 256, (cells, cells), dtype=np.uint8)
    size = (shape[1], shape[0])
    field: _Field = np.asarray(Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC), np.float32)
    return field / np.float32(255)


def _grain(image: Image.Image, rng: random.Random, sigma: float) -> _Field:
    pixels = np.asarray(image, np.float32)
    grain = np.random.default_rng(rng.randrange(2**32)).normal(0, sigma, pixels.shape[:2])
    return np.clip(pixels + grain[..., None], 0, 255).astype(np.float32)


def _image(pixels: npt.NDArray[np.floating]) -> Image.Image:
    return Image.fromarray(np.rint(np.clip(pixels, 0, 255)).astype(np.uint8))
