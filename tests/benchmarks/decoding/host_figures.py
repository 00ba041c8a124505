"""Measures the host's time per token of paged decoding, without the device's work; needs no GPU:

python -m tests.benchmarks.decoding.host_figures
python -m tests.benchmarks.decoding.host_figures --rows 256,1

Pages write parts of this project's README through the whole engine, except the model, whose tokens a stand-in supplies
in place of captured steps. Seconds are the process's, without the stand-in's; starting and ending pages counts.
"""

import argparse
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from ocr.decoding.gpu.forward.pending import Moment, Pending, Prefilled
from ocr.decoding.gpu.forward.step_graphs import BUCKETS, StepGraphs
from ocr.decoding.gpu.paged_engine import PagedEngine
from ocr.decoding.gpu.schedule.entries import EngineSettings, EngineStats, Item
from ocr.decoding.sequence.page_reading import DecodeSettings, start_reading
from tests.ocr.tiny_reader import Reader

ROOT = Path(__file__).parents[3]
PROMPT, EOS, WIDTH, LOGITS = 900, 1, 16, 256
LIMITS = DecodeSettings(max_tokens=8192)


class _Model(nn.Module):
    """A model with nothing but the shapes that an engine is made from."""

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        embed = nn.Embedding(vocab_size, WIDTH)
        config = SimpleNamespace(
            max_position_embeddings=8192, num_key_value_heads=1, hidden_size=WIDTH, num_attention_heads=1
        )
        self.language_model = nn.Module()
        self.language_model.config = config
        self.language_model.layers = nn.ModuleList([nn.Identity()])
        self.language_model.get_input_embeddings = lambda: embed
        self.lm_head = nn.Linear(WIDTH, LOGITS, bias=False)


class _Played(StepGraphs):
    """Steps of every size, which take each page's next tokens from a list. seconds: spent on that."""

    def __init__(self, engine: PagedEngine, texts_NT: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        super().__init__(engine.slots)
        self._engine, self._texts_NT = engine, texts_NT
        self._captured = dict.fromkeys({*BUCKETS, engine.slots})
        self.seconds = 0.0

    def replay(self, rows: int) -> None:
        began = time.process_time()
        steps: Any = self._engine._steps
        plan = steps._plan_SP[:rows].numpy()
        by_block = {page.blocks[0]: page.index for page in self._engine._scheduler.pages}
        pages = np.array([by_block.get(block, 0) for block in plan[:, 1].tolist()])
        at = np.clip(plan[:, :1] - PROMPT + 1, 0, self._texts_NT.shape[1] - 1)
        results = steps._results_S2.numpy()[:rows]
        results[:, 0], results[:, 1] = self._texts_NT[pages[:, None], at].ravel(), -0.1
        self.seconds += time.process_time() - began

    def prefill(self, prompts: Tensor, blocks: object, rows: list[int]) -> Prefilled:
        began = time.process_time()
        pages = {page.row: page.index for page in self._engine._scheduler.pages}
        firsts = [[float(self._texts_NT[pages[row], 0]), -0.1] for row in rows]
        now = Moment.now(torch.device("cpu"))
        pending = Pending.of(torch.tensor(firsts))
        logits_NV = torch.zeros(len(rows), LOGITS)
        self.seconds += time.process_time() - began
        return Prefilled(logits_NV=logits_NV, pending=pending, began=now, ended=now)


def measure(rows: int, tokens: int) -> tuple[EngineStats, float]:
    """Returns the counts and the host's CPU seconds of reading that many pages of so many tokens at once."""
    tokenizer = Tokenizer.from_file(str(ROOT / "ocr/weights/small/tokenizer.json"))
    reader = Reader(model=_Model(tokenizer.get_vocab_size()), tokenizer=tokenizer, eos_id=EOS)
    written = np.array(tokenizer.encode((ROOT / "README.md").read_text(encoding="utf-8")).ids)
    texts_NT = np.full((rows, tokens + 1), EOS)
    for row in range(rows):
        length = tokens - 13 * row % max(1, tokens // 5)
        texts_NT[row, :length] = np.resize(np.roll(written, -37 * row), length)
    settings = EngineSettings(slots=rows, kv_bytes=1 << 30, lag=1, graphs=False)
    engine = PagedEngine(reader, settings)
    steps: Any = engine._steps
    played = steps._graphs = _Played(engine, texts_NT)
    steps.graphs, steps.prefill = True, played.prefill
    items = [
        Item(
            prompt=lambda: torch.zeros(PROMPT, WIDTH),
            num_prompt=PROMPT,
            reading=start_reading(reader, PROMPT, LIMITS),
        )
        for _ in texts_NT
    ]
    began = time.process_time()
    for _ in engine.read(items):
        pass
    return engine.stats, time.process_time() - began - played.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", default="256,16,4,1", help="pages read at once")
    parser.add_argument("--tokens", type=int, default=800, help="that the longest page writes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for rows in map(int, options.rows.split(",")):
        stats, seconds = measure(rows, options.tokens)
        print(
            f"{rows:4} pages: {1e6 * seconds / stats.tokens:7.2f} us a token, "
            f"{1e6 * seconds / stats.steps:8.1f} us a step, {stats.steps} steps, "
            f"{stats.rewinds} tokens chosen again",
            flush=True,
        )


if __name__ == "__main__":
    main()
