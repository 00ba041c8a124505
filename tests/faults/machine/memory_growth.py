"""Measures memory over thousands of pages with the real ingestion and database, and a stand-in for the model:

python -m tests.faults.machine.memory_growth
python -m tests.faults.machine.memory_growth DOCS --pages 5000 --first 500 --mode gundam --most 1.1

Files are discovered, opened and rendered by the worker processes, cut into views, handed over, and stored, as always.
Only the model is replaced: it returns at once a text of the usual length, in blocks, for each page. So it shows nothing
of the model's memory; `python -m tests.benchmarks.runs.memory` reads with a real one. Options are that program's, with
these defaults: DOCS tests/samples, --pages 5000, --first 500, --every 250, --mode tiny, --most 1.1. The exit code is 1
if main process and workers together took more than --most times as much at the last page as at page --first.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ocr.types import Block, ParsedText
from pipeline.device import open_models
from pipeline.device.threads.page_reader import PageReader
from pipeline.outcome.results import render_timings
from pipeline.types import PageResult, RenderedPage
from tests.benchmarks.runs import memory

SAMPLES = Path(__file__).parents[2] / "samples"
_DEFAULTS = {"--pages": "5000", "--first": "500", "--every": "250", "--mode": "tiny", "--most": "1.1"}
_NUM_BLOCKS = 24


class StandIn(PageReader):
    """Reads without a model. Each page gets another text, some 2,000 characters in paragraphs."""

    def prepare(self) -> None:
        """Does nothing: there is nothing to import."""

    def start(self) -> None:
        """Does nothing: there is nothing to load."""

    async def ready(self, *, alone: bool = False) -> None:
        """Returns at once: it is always ready."""

    async def read(
        self,
        rendered: RenderedPage,
        dropped: Callable[[int], None] | None = None,
        *_rest: Any,
        **_others: Any,
    ) -> PageResult:
        await asyncio.sleep(0)  # as if there were something to wait for
        lines = [
            f"{rendered.page.sha256[:16]} {rendered.page.page_number} {n:>60}" for n in range(_NUM_BLOCKS)
        ]
        blocks = tuple(Block(label="text", text=line, raw_span=None) for line in lines)
        if dropped is not None:
            dropped(rendered.num_bytes)
        return PageResult(
            page=rendered.page,
            status="ok",
            parsed=ParsedText(text="\n".join(lines), markdown="\n\n".join(lines), blocks=blocks),
            error=None,
            confidence=0.99,
            num_tokens=600,
            width_px=rendered.width_px,
            height_px=rendered.height_px,
            dpi=rendered.dpi,
            timings=render_timings(rendered),
        )


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0].startswith("-"):
        given.insert(0, str(SAMPLES))
    defaults = [part for name, value in _DEFAULTS.items() if name not in given for part in (name, value)]
    if "-h" in given or "--help" in given:
        print(__doc__)
        return 0
    with patch.object(open_models, "PageReader", StandIn):
        return memory.main([*given, *defaults])


if __name__ == "__main__":
    sys.exit(main())
