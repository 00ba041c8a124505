"""Makes the requests to measure, as the encoder's views: random images or videos, or pages of real documents."""

import ast
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from encoders.views import PageViews
from encoders.vision_encoder import PageEncoder
from ocr.families.view_makers import VideoMaker, ViewMaker
from ocr.imaging.tiling import views
from pipeline.bench.real_pages import first_pages
from pipeline.config.sources import load
from pipeline.documents.settings import TileSettings
from pipeline.errors import ConfigError
from pipeline.timing import Stopwatch

Size = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderRequest:
    """Images, videos or pages that are asked for together. seconds: of each stage before the encoder, by its name."""

    items: tuple[PageViews, ...]
    seconds: Mapping[str, float]

    def prepared(self, encoder: PageEncoder) -> "EncoderRequest":
        """Returns it as the encoder takes it, with the time of its model's own processor where it has one."""
        if not encoder.prepares:
            return self
        watch = Stopwatch()
        with watch.measure():
            items = tuple(map(encoder.prepared, self.items))
        return EncoderRequest(items=items, seconds={**self.seconds, "prepare": watch.seconds})


def grouped(singles: Iterable[EncoderRequest], counts: Iterable[int]) -> list[EncoderRequest]:
    """Returns requests of so many items each, made of requests of one; fewer where these are used up."""
    rest = iter(singles)
    return [
        EncoderRequest(
            items=tuple(single.items[0] for single in its),
            seconds={stage: sum(single.seconds[stage] for single in its) for stage in its[0].seconds},
        )
        for count in counts
        if (its := list(islice(rest, count)))
    ]


def serve(
    arrivals_s: Sequence[float], most: int, encode: Callable[[slice], float]
) -> Iterator[tuple[slice, float, list[float]]]:
    """Yields the batches that one encoder makes of requests: which, the seconds they took, and how long each waited.

    Whenever it is free it takes all that have arrived, at most so many. Its clock is moved on to the next arrival where
    none has, so that no time is spent on waiting. encode: returns seconds.
    """
    now, first = 0.0, 0
    while first < len(arrivals_s):
        now = max(now, arrivals_s[first])
        some = slice(first, min(bisect_right(arrivals_s, now), first + most))
        seconds = encode(some)
        yield some, seconds, [now - arrived for arrived in arrivals_s[some]]
        now, first = now + seconds, some.stop


def parse_buckets(text: str) -> dict[Size, float]:
    """Returns (height, width) in px -> probability, from "{(224, 224): 0.5, (1024, 1024): 0.5}".

    Raises: ConfigError. The text is parsed as a literal, never evaluated.
    """
    try:
        buckets = ast.literal_eval(text)
        found = {(int(height), int(width)): float(share) for (height, width), share in buckets.items()}
    except (ValueError, SyntaxError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"--buckets {text}: not sizes with probabilities such as '{{(224,224): 0.5, (1024,1024): 0.5}}'"
        ) from error
    if (
        not found
        or min(min(size) for size in found) < 1
        or min(found.values()) < 0
        or not sum(found.values())
    ):
        raise ConfigError(f"--buckets {text}: sizes must be at least 1 px, probabilities not negative")
    return found


def parse_budgets(text: str) -> Any:
    """Returns BenchSettings.budgets: "default", "auto", "fitted", or tokens by path. Raises: ConfigError."""
    if text in ("default", "auto", "fitted"):
        return text
    return load(None, [f"encoder.budgets={text}"]).encoder.budgets or "default"


def random_requests(
    buckets: Mapping[Size, float],
    count: int,
    seed: int,
    max_tiles: int,
    maker: ViewMaker | VideoMaker | None = None,
    num_frames: int = 0,
) -> list[EncoderRequest]:
    """Returns requests for images, or videos of num_frames frames, of random pixels, with sizes drawn from the buckets.

    maker: None for DeepSeek-OCR's views. Raises: ConfigError for a size that it cannot take.
    """
    make = partial(views, mode="gundam", max_tiles=max_tiles) if maker is None else maker
    rng = np.random.default_rng(seed)
    sizes, shares = list(buckets), np.array(list(buckets.values()))
    requests = []
    for index in rng.choice(len(sizes), size=count, p=shares / shares.sum()).tolist():
        leading = (num_frames,) if num_frames else ()
        pixels = rng.integers(0, 256, (*leading, *sizes[index], 3), dtype=np.uint8)
        start = time.perf_counter()
        try:
            cut = make(pixels)
        except ValueError as error:
            raise ConfigError(f"--buckets {sizes[index]}: {error}") from error
        requests.append(EncoderRequest(items=(cut,), seconds={"tile": time.perf_counter() - start}))
    return requests


def page_requests(
    folder: str, count: int, max_tiles: int, view_maker: ViewMaker | None = None
) -> list[EncoderRequest]:
    """Returns requests for the first `count` pages below a folder that are not blank, rendered whole as in a run.

    Raises: ConfigError where there is none.
    """
    return [
        EncoderRequest(items=(rendered.views,), seconds=rendered.seconds)
        for rendered in first_pages(folder, TileSettings(max_tiles=max_tiles, views=view_maker), count)
    ]
