"""An independent witness: transformers' own class reads pages with a checkpoint of ours, from pixels to the last token.

Nothing is shared but the files and the views: its encoder, its places for the page in the prompt, its generation.
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import LogitsProcessor, UnlimitedOcrForConditionalGeneration

from encoders.views import PageViews, UInt8Array
from ocr.checkpoints.checkpoint import LoadedModel, load
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings, NgramBan
from ocr.model.prompt import IMAGE_TAG, encode_prompt
from tests.ocr.tiny import relative_error

PROMPT = "<image>\nRead."
NUM_TOKENS = 60
GRIDS = [(1, 1), (2, 1), (1, 2)]


class _Ban(LogitsProcessor):  # type: ignore[misc]
    """Our n-gram ban, over the generated tokens alone: without it a random model soon goes round in circles."""

    def __init__(self, prompt_length: int) -> None:
        self._prompt_length = prompt_length

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        ban = NgramBan(size=3, window=40)
        for token in input_ids[0, self._prompt_length :].tolist():
            ban.push(token)
        scores[0, list(ban.banned())] = -torch.inf
        return scores


@pytest.fixture(scope="module")
def loaded(checkpoint: Path) -> LoadedModel:
    return load(str(checkpoint), device="cpu", dtype=torch.float32)


def coarse_views(count: int, side: int, seed: int) -> UInt8Array:
    """[count, 3, side, side] of large squares: views of fine noise all look alike."""
    squares = np.random.default_rng(seed).integers(0, 256, (count, 3, 5 + seed, 5 + seed), dtype=np.uint8)
    large: UInt8Array = np.repeat(np.repeat(squares, side, axis=2), side, axis=3)[
        :, :, :: 5 + seed, :: 5 + seed
    ]
    return large


@pytest.fixture(scope="module")
def pages() -> list[PageViews]:
    return [
        PageViews(
            global_view=coarse_views(1, 512, seed)[0],
            local_views=coarse_views(columns * rows if columns * rows > 1 else 0, 640, seed),
            grid=(columns, rows),
        )
        for seed, (columns, rows) in enumerate(GRIDS)
    ]


def pixels_of(page: PageViews) -> dict[str, object]:
    """The views as transformers' image processor would hand them to its model."""
    local = {
        "pixel_values_local": torch.from_numpy(page.local_views) / 127.5 - 1,
        "num_local_patches": [page.num_tiles],
        "patches_grid": [list(page.grid)],
    }
    whole = {"pixel_values": torch.from_numpy(page.global_view)[None] / 127.5 - 1}
    return whole | local if page.num_tiles else whole


@torch.inference_mode()
def witness_of(
    reference: UnlimitedOcrForConditionalGeneration, loaded: LoadedModel, page: PageViews
) -> tuple[torch.Tensor, list[int]]:
    """transformers' vision tokens [T, D] and the tokens that it writes."""
    pixels = pixels_of(page)
    (vision_TD,) = reference.model.get_image_features(**pixels).pooler_output
    ids = encode_prompt(loaded.tokenizer, PROMPT, bos_id=loaded.bos_id)
    prompt = torch.tensor(
        [[*ids.before, *[loaded.tokenizer.token_to_id(IMAGE_TAG)] * len(vision_TD), *ids.after]]
    )
    generated = reference.generate(
        input_ids=prompt,
        **pixels,
        max_new_tokens=NUM_TOKENS,
        do_sample=False,
        eos_token_id=loaded.eos_id,
        pad_token_id=loaded.eos_id,
        logits_processor=[_Ban(prompt.shape[1])],
    )
    return vision_TD, generated[0, prompt.shape[1] :].tolist()


def test_pages_are_read_as_transformers_reads_them(
    loaded: LoadedModel, reference: UnlimitedOcrForConditionalGeneration, pages: list[PageViews]
) -> None:
    with torch.inference_mode():
        vision = loaded.model.encoder.encode(pages)
    prompt_length = len(encode_prompt(loaded.tokenizer, PROMPT, bos_id=loaded.bos_id))
    settings = [
        DecodeSettings(
            max_tokens=prompt_length + len(tokens.tokens_TD) + NUM_TOKENS,
            ngram_size=3,
            ngram_window=40,
            loop_tokens=0,
        )
        for tokens in vision
    ]
    requests = [
        PageRequest(vision=tokens, settings=limits) for tokens, limits in zip(vision, settings, strict=True)
    ]
    found = loaded.engine(prompt=PROMPT, num_slots=len(pages)).read(requests)
    read = [page.transcript for page in sorted(found, key=lambda page: page.index)]
    texts = []
    for page, tokens, transcript in zip(pages, vision, read, strict=True):
        expected_TD, expected = witness_of(reference, loaded, page)
        assert tokens.tokens_TD.shape == expected_TD.shape
        assert relative_error(tokens.tokens_TD, expected_TD) < 1e-4
        written = [*transcript.token_ids, *([loaded.eos_id] if transcript.finish == "eos" else [])]
        assert written == expected
        texts.append(transcript.token_ids)
    assert len(set(texts)) == len(pages), "pages that read alike would compare nothing"
    assert sum(map(len, texts)) > 30
    assert len(set().union(*texts)) > 10
