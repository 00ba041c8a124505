"""Measures the gain from drafts in the paged engine; sections of tests.benchmarks.decoding.decode_figures.

draft_steps: a captured step of the full-size model by rows and tokens a row, which is what
ocr.decoding.gpu.forward.step_costs.step_cost assumes. drafts: the shipped model reads the sample pages, as many copies
as fill the slots, with and without drafts.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.gpu.forward import layers, text_forward
from ocr.decoding.gpu.forward.block_pool import BlockPool
from ocr.decoding.gpu.forward.step_costs import MOST_TOKENS, STEP_TOKENS, step_cost
from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.reader import PagedReader
from ocr.decoding.gpu.schedule.entries import EngineSettings
from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import settings_for
from ocr.speculative.page_draft import drafts_for
from pipeline.bench.real_pages import first_pages
from pipeline.documents.settings import TileSettings
from pipeline.types import RenderedPage

Found = dict[str, Any]
SAMPLES = Path(__file__).parents[2] / "samples"


def draft_steps(rig: Any, found: Found) -> Found:
    """Returns the milliseconds of a step of each batch, each row fed 1, 4, 8 or 16 tokens, relative to one of 1.

    If a step has more pairs of tokens and experts than the fused layers take, both ways.
    """
    results: Found = {}
    for batch in dict.fromkeys((*rig.effort.batches, rig.effort.batches[0] // 2)):
        pool, plain_ms = None, 0.0
        times: Found = {}
        for tokens in (1, *STEP_TOKENS):
            if batch * tokens > MOST_TOKENS:
                continue
            ms = {}
            for most in dict.fromkeys(
                (layers.MAX_PAIRS, MOST_TOKENS * rig.effort.language.num_experts_per_tok)
            ):
                with most_pairs(most):
                    pool, device = filled(rig, batch, pool)
                    ms[most] = rig.ms(partial(one_step, device, batch, tokens), rig.effort.repeats)
                del device
                if batch * tokens * rig.effort.language.num_experts_per_tok <= layers.MAX_PAIRS:
                    break
            plain_ms = plain_ms or ms[layers.MAX_PAIRS]
            times[str(tokens)] = {
                "ms": ms[layers.MAX_PAIRS],
                "cost": ms[layers.MAX_PAIRS] / plain_ms,
                "assumed_cost": step_cost(tokens, batch),
                **({"ms_fused_all_the_same": list(ms.values())[1]} if len(ms) > 1 else {}),
            }
        results[str(batch)] = times
        del pool
        rig.tidy()
    return results


def filled(rig: Any, batch: int, pool: BlockPool | None) -> tuple[BlockPool, DeviceSteps]:
    """Returns steps whose rows all hold the mean length."""
    length = rig.effort.prompt + rig.effort.output // 2
    most = rig.shape.blocks(length + 64)
    pool = pool or BlockPool(rig.shape, (1 + batch * most) * rig.shape.block_bytes, rig.device)
    device = DeviceSteps(rig.model, pool, slots=batch, max_tokens=length + 64)
    for row in range(batch):
        device.plan[row, 0] = length
        device.plan[row, 1 : 1 + most] = range(1 + row * most, 1 + (row + 1) * most)
    return pool, device


def one_step(device: DeviceSteps, batch: int, tokens: int) -> object:
    return (
        device.step(batch)
        if tokens == 1
        else device.step_drafts(range(batch), [[1] * tokens] * batch, tokens)
    )


@contextmanager
def most_pairs(count: int) -> Iterator[None]:
    """Lets the fused layers take this many pairs within it."""
    with patch.object(layers, "MAX_PAIRS", count), patch.object(text_forward, "MAX_PAIRS", count):
        yield


def drafts(rig: Any, found: Found) -> Found:
    """Returns for each number of slots, without and with drafts: wall, tokens/s, tokens a step, host ms a step."""
    quick = not rig.on_cuda
    dtype = torch.float32 if quick else torch.bfloat16
    loaded = checkpoint.load("small", device=rig.device, dtype=dtype)
    requests = page_requests(loaded, sample_pages(quick=quick), most_tokens=48 if quick else None)
    results: Found = {"pages": len(requests)}
    for slots in (2,) if quick else (32, 128, 256):
        copies = 1 if quick else max(1, 2 * slots // len(requests))
        paged = PagedReader(loaded, EngineSettings(slots=slots, max_tokens=8192, kv_share=0.5))
        texts: dict[str, list[tuple[int, ...]]] = {}
        for arm in ("without", "with"):
            read(loaded, paged, requests, copies, drafts=arm == "with")  # captures what it needs
            figures, reads = read(loaded, paged, requests, copies, drafts=arm == "with")
            results[f"{slots} slots, {arm}"] = figures
            texts[arm] = [page.transcript.token_ids for page in reads]
        different = sum(one != other for one, other in zip(*texts.values(), strict=True))
        results[f"{slots} slots, pages that differ"] = different
        results[f"{slots} slots, speed-up"] = (
            results[f"{slots} slots, without"]["wall_s"] / results[f"{slots} slots, with"]["wall_s"]
        )
        paged.close()
        rig.tidy()
    return results


def sample_pages(*, quick: bool) -> list[RenderedPage]:
    """Returns the sample pages.

    quick: two of them as small views, a tenth of the work; their text need not make sense.
    """
    tile = TileSettings(mode="tiny") if quick else TileSettings()
    return first_pages([str(SAMPLES)], tile, 2 if quick else 20)


def page_requests(
    loaded: LoadedModel, pages: Sequence[RenderedPage], most_tokens: int | None
) -> list[tuple[PageRequest, str | None]]:
    """Returns pages to read, with their text layers. most_tokens: that each may write, None for as many as fit."""
    made = []
    for page in pages:
        with torch.inference_mode():
            (tokens,) = loaded.model.encoder.encode([page.views])
        limits = settings_for(page.page.kind)
        if most_tokens:
            limits = type(limits)(max_tokens=len(tokens.tokens_TD) + most_tokens)
        made.append((PageRequest(vision=tokens, settings=limits), page.text_layer))
    return made


def read(
    loaded: LoadedModel,
    paged: PagedReader,
    requests: list[tuple[PageRequest, str | None]],
    copies: int,
    *,
    drafts: bool,
) -> tuple[Found, list[PageRead]]:
    """Reads every page `copies` times. Making the drafts is part of the time, as in a run."""
    source = drafts_for(loaded.tokenizer)
    before = vars_of(paged)
    started = time.perf_counter()

    def asked() -> Any:
        for _ in range(copies):
            for request, layer in requests:
                draft = source.of(layer) if drafts else None
                yield PageRequest(vision=request.vision, settings=request.settings, draft=draft)

    reads = sorted(paged.read(asked(), loaded.prompt), key=lambda page: page.index)
    wall_s = time.perf_counter() - started
    stats = {name: value - before[name] for name, value in vars_of(paged).items()}
    num_steps = max(stats["steps"], 1)
    return {
        "wall_s": wall_s,
        "pages_s": len(reads) / wall_s,
        "tokens_s": stats["tokens"] / wall_s,
        "tokens_a_row_step": (stats["tokens"] - len(reads)) / max(stats["rows"], 1),
        "rows_a_step": stats["rows"] / num_steps,
        "drafted": stats["drafted"],
        "accepted_share": stats["accepted"] / max(stats["drafted"], 1),
        "steps": stats["steps"],
        "draft_steps": stats["draft_steps"],
        "host_ms_a_step": 1e3 * stats["host_s"] / num_steps,
        "wait_ms_a_step": 1e3 * stats["wait_s"] / num_steps,
        "ms_a_step": 1e3 * (wall_s - stats["prefill_s"]) / num_steps,
        "prefill_s": stats["prefill_s"],
        "rewinds": stats["rewinds"],
        "shares_of_wall": sum(page.prefill_s + page.generate_s for page in reads) / wall_s,
    }, reads


def vars_of(paged: PagedReader) -> dict[str, float]:
    stats = paged.stats
    return {name: getattr(stats, name) for name in stats.__slots__}
