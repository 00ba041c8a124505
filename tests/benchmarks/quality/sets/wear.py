"""Wears pages as copiers, scanners and fax machines do: the degraded set. Seeded by the page's name.

Every kind takes and returns [H, W, C] float32 of 0 (ink) to 255 (paper).
"""

import io
import zlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

Pixels = npt.NDArray[np.float32]
Kind = Callable[[Pixels, np.random.Generator, Pixels], Pixels]


def skew(page: Pixels, rng: np.random.Generator, back: Pixels) -> Pixels:
    """Turns the page by 0.5 to 2 degrees either way."""
    degrees = float(rng.choice([-1, 1]) * rng.uniform(0.5, 2.0))
    image = _image(page)
    return _pixels(image.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=_paper(image)))


def blur(page: Pixels, rng: np.random.Generator, back: Pixels) -> Pixels:
    """Blurs with a Gaussian of sigma 0.8 to 1.6 px (at 200 dpi a stem is about 2 px wide)."""
    return _pixels(_image(page).filter(ImageFilter.GaussianBlur(float(rng.uniform(0.8, 1.6)))))


def noise(page: Pixels, rng: np.random.Generator, back: Pixels) -> Pixels:
    """Adds Gaussian noise of sigma 12 to 30 grey levels, the same in all colours."""
    grain = rng.normal(0, rng.uniform(12, 30), page.shape[:2]).astype(np.float32)
    return _clipped(page + grain[..., None])


def jpeg(page: Pixels, rng: np.random.Generator, back: Pixels) -> Pixels:
    """Saves the page once as JPEG at quality 30 to 60."""
    file = io.BytesIO()
    _image(page).save(file, "JPEG", quality=int(rng.integers(30, 61)))
    with Image.open(file) as image:
        return _pixels(image)


def uneven_light(page: Pixels, rng: np.random.Generator, back: Pixels) -> Pixels:
    """Adds a shadow from one side or corner: down to 45 to 70% of the light."""
    height, width = page.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    angle = rng.uniform(0, 2 * np.pi)
    along = np.cos(angle) * (x / width - 0.5) + np.sin(angle) * (y / height - 0.5)
    ramp = (along - along.min()) / (along.max() - along.min())
    light = 1 - (1 - rng.uniform(0.45, 0.7)) * ramp ** rng.uniform(1.0, 2.5)
    return _clipped(page * light[..., None].astype(np.float32))


def bleed_through(page: Pixels, rng: np.random.Generator, back: Pixels) -> Pixels:
    """Lets another page, mirrored and slightly blurred, show through with 12 to 28% of its ink."""
    height, width = page.shape[:2]
    other = _image(back).convert("L").resize((width, height)).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    ink = 255 - _pixels(other.filter(ImageFilter.GaussianBlur(1.2)))
    return _clipped(page - np.float32(rng.uniform(0.12, 0.28)) * ink)


def low_contrast(page: Pixels, rng: np.random.Generator, back: Pixels) -> Pixels:
    """Lowers the contrast: ink at 95 to 150 on paper at 190 to 235."""
    ink, paper = rng.uniform(95, 150), rng.uniform(190, 235)
    return (ink + (paper - ink) * page / 255).astype(np.float32)


def fax(page: Pixels, rng: np.random.Generator, back: Pixels) -> Pixels:
    """Makes the page one-bit, with a threshold between its dark and light, and a few lost and added dots."""
    grey = page.mean(axis=2)
    dark, light = np.percentile(grey, [0.5, 90])
    threshold = 128.0
    if light - dark > 40:  # a blank page has no dark pixels
        threshold = dark + (light - dark) * rng.uniform(0.45, 0.7)
    bits = grey > threshold
    bits ^= rng.random(bits.shape) < 0.0005
    return _clipped(255.0 * bits[..., None])


# In the order in which a page meets them: paper, glass, sensor, file.
KINDS: dict[str, Kind] = {
    "bleed-through": bleed_through,
    "low-contrast": low_contrast,
    "skew": skew,
    "uneven-light": uneven_light,
    "blur": blur,
    "noise": noise,
    "jpeg": jpeg,
    "fax": fax,
}


def kinds_of(index: int, name: str) -> tuple[str, ...]:
    """Returns one or two kinds for the page at `index`: all kinds take turns as the first; a second is random."""
    names = list(KINDS)
    first = names[index % len(names)]
    rng = _generator(name, "kinds")
    second = names[int(rng.integers(len(names)))]
    chosen = {first} if second == first or rng.random() < 0.5 else {first, second}
    return tuple(kind for kind in names if kind in chosen)


def degrade(page: Image.Image, back: Image.Image, kinds: tuple[str, ...], name: str) -> Image.Image:
    """Returns the page as 8-bit grey or RGB; the same for the same name and kinds, always."""
    pixels, behind = _pixels(page), _pixels(back)
    for kind in kinds:
        pixels = KINDS[kind](pixels, _generator(name, kind), behind)
    return _image(pixels)


def _generator(name: str, purpose: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(f"{name}/{purpose}".encode()))


def _paper(image: Image.Image) -> int | tuple[int, ...]:
    """Returns the colour of the page's first corner."""
    corner = image.getpixel((0, 0))
    return tuple(int(part) for part in corner) if isinstance(corner, tuple) else int(corner or 0)


def _pixels(image: Image.Image) -> Pixels:
    pixels = np.asarray(image, dtype=np.float32)
    return pixels[..., None] if pixels.ndim == 2 else pixels


def _image(pixels: Pixels) -> Image.Image:
    whole = np.rint(_clipped(pixels)).astype(np.uint8)
    return Image.fromarray(whole[..., 0] if whole.shape[2] == 1 else whole)


def _clipped(pixels: npt.NDArray[np.floating]) -> Pixels:
    clipped: Pixels = np.clip(pixels, 0, 255).astype(np.float32)
    return clipped
