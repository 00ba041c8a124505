"""Times the processors of published models within a run, by the thread that they run in.

python -m tests.benchmarks.runs.families.processors paddleocr_vl --num-pages 6

The models are the tests' tiny ones, whose processors are told to take pictures as large as the published ones do.
Nothing is written of a page, so that a run is of views, processor and encoder.
"""

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ocr.families.published.processors import Prompting
from pipeline.config import sources
from tests.ocr.families.published import tiny_published
from tests.pipeline.runs import run_quietly

# The most pixels of a picture, as the published preprocessor_config.json says.
_MOST_PX = {"paddleocr_vl": 1003520, "glm_ocr": 9633792}
_A4_PX = (1754, 1240, 3)


def processor_ms(model_type: str, num_pages: int, most_px: int) -> dict[str, list[float]]:
    """Returns the CPU milliseconds that each page's processor took, by the name of its thread."""
    found: dict[str, list[float]] = defaultdict(list)
    real = Prompting.__call__

    def timed(self: Prompting, *args: Any, **changes: Any) -> Any:
        start = time.thread_time()
        made = real(self, *args, **changes)
        found[threading.current_thread().name].append((time.thread_time() - start) * 1e3)
        return made

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prompting, "__call__", timed)
        docs, model = Path(folder) / "docs", tiny_published.save(model_type, Path(folder) / "model")
        settings = model / "preprocessor_config.json"
        content = json.loads(settings.read_text(encoding="utf-8"))
        content["size"]["longest_edge"] = most_px
        settings.write_text(json.dumps(content), encoding="utf-8")
        docs.mkdir()
        random = np.random.default_rng(0)
        for number in range(num_pages):
            Image.fromarray(random.integers(0, 256, _A4_PX, np.uint8)).save(docs / f"{number}.png")
        values = {
            "ingest": {"paths": [str(docs)]},
            "store": {"database": str(Path(folder) / "ocrbatch.db")},
            "model": str(model),
            "decode": {"max_tokens": 8, "prompt": "<image>Read"},
        }
        sets = ["device=cpu", "threads=1", "words=off", "ladder.rungs=[]", "text_layer=ignore"]
        run_quietly(sources.load(None, sets, [("benchmark", values)]))
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model_type", choices=list(_MOST_PX))
    parser.add_argument("--num-pages", type=int, default=6)
    asked = parser.parse_args()
    for thread, its in processor_ms(asked.model_type, asked.num_pages, _MOST_PX[asked.model_type]).items():
        print(f"thread {thread}: {len(its)} pages, median {statistics.median(its):.1f} ms of CPU a page")


if __name__ == "__main__":
    main()
