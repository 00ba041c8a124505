"""Unlimited-OCR behind the interface of a run: the tokens and features of transformers' own class."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import UnlimitedOcrForConditionalGeneration

from encoders.graphs.capturing.capture import Capture
from encoders.graphs.settings import GraphSettings
from encoders.types import VisionTokens
from encoders.views import PageViews
from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.errors import CheckpointError
from ocr.families.catalogue.published_models import find_model
from ocr.families.registry import described, family_of, model_sha256
from ocr.families.unlimited_ocr.unlimited_reader import UnlimitedReader, model_config
from tests.encoders.graphs.eager_capture import Winning
from tests.ocr.families.opening import encoded_by, opened, read_by
from tests.ocr.families.unlimited_ocr.tiny_unlimited import BOS, EOS, IMAGE, SLIDING_WINDOW, save

NEW = 30
SIZES = ((90, 120), (700, 600), (400, 900))
GRIDS = [(1, 1), (2, 2), (2, 1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of few tiles, for speed."""
    folder = save(tmp_path_factory.mktemp("unlimited"))
    (folder / "preprocessor_config.json").write_text(json.dumps({"max_patches": 8}), encoding="utf-8")
    return folder


def load(folder: Path, prompt: str | None = None) -> UnlimitedReader:
    loaded: Any = opened(folder, prompt)
    return loaded


@pytest.fixture(scope="module")
def reader(folder: Path) -> UnlimitedReader:
    return load(folder)


@pytest.fixture(scope="module")
def pages(folder: Path) -> list[PageViews]:
    maker: Any = family_of(folder).view_maker(folder)
    found = []
    for seed, (height, width) in enumerate(SIZES):
        squares = np.random.default_rng(seed).integers(0, 256, (5, 6, 3), np.uint8)
        found.append(maker(np.repeat(np.repeat(squares, -(-height // 5), 0), -(-width // 6), 1)))
    assert [page.grid for page in found] == GRIDS
    return found


def encoded(
    reader: UnlimitedReader, pages: list[PageViews], capture: Capture | None = None
) -> list[VisionTokens]:
    found, uses = encoded_by(
        reader.vision_encoder("gundam"), pages, capture, GraphSettings(max_items=2, repeats=1)
    )
    assert uses == ({"eager"} if capture is None else {"hit"})
    return found


@pytest.fixture(scope="module")
def tokens(reader: UnlimitedReader, pages: list[PageViews]) -> list[VisionTokens]:
    return encoded(reader, pages)


@pytest.fixture(scope="module")
def plain(folder: Path) -> UnlimitedOcrForConditionalGeneration:
    """transformers' model apart from ours, read from the same files."""
    config = model_config(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    config.image_token_id = IMAGE
    model = UnlimitedOcrForConditionalGeneration.from_pretrained(folder, config=config, dtype=torch.float32)
    return model.eval()  # type: ignore[no-any-return]


def pixels_of(page: PageViews) -> dict[str, Any]:
    """The views as its processor would hand them over."""
    whole = {"pixel_values": torch.from_numpy(page.global_view)[None] / 255 * 2 - 1}
    local = {
        "pixel_values_local": torch.from_numpy(page.local_views) / 255 * 2 - 1,
        "num_local_patches": [len(page.local_views)],
        "patches_grid": [list(page.grid)],
    }
    return whole | local if len(page.local_views) else whole


def prompt_of(page: PageViews, text: str = "document parsing.") -> list[int]:
    """BOS, the page's places by its processor's count, the bytes of the words; this tokenizer has no merges."""
    columns, rows = page.grid
    num_image = 16 * 17 + 1 + (rows * 10 * (columns * 10 + 1) if page.num_tiles else 0)
    signs = {33 + byte: byte for byte in range(94)} | {32: 220}  # as byte-level vocabularies sort
    return [BOS, *[IMAGE] * num_image, *(signs[ord(sign)] for sign in text)]


@pytest.fixture(scope="module")
def expected(plain: Any, pages: list[PageViews]) -> list[list[int]]:
    """What transformers writes of each page alone, pixels and all."""
    found = [generated(plain, page, **pixels_of(page)) for page in pages]
    assert len(set(map(tuple, found))) > 1, "else the pages would make no difference"
    assert min(map(len, found)) > 2 * SLIDING_WINDOW
    return found


@torch.inference_mode()
def generated(model: Any, page: PageViews, **options: Any) -> list[int]:
    ids = torch.tensor([prompt_of(page)])
    output = model.generate(
        input_ids=ids,
        max_new_tokens=NEW,
        do_sample=False,
        eos_token_id=EOS,
        pad_token_id=EOS,
        **options,
    )
    written: list[int] = output[0, ids.shape[1] :].tolist()
    return written[:-1] if written[-1] == EOS else written


def read(reader: UnlimitedReader, tokens: list[VisionTokens], slots: int, **limits: Any) -> list[PageRead]:
    return read_by(reader, tokens, slots, NEW, **limits)


@pytest.mark.slow
def test_features_are_those_of_its_own_class(
    reader: UnlimitedReader, plain: Any, pages: list[PageViews], tokens: list[VisionTokens]
) -> None:
    with torch.inference_mode():
        expected = [plain.get_image_features(**pixels_of(page)).pooler_output[0] for page in pages]
    replayed = encoded(reader, pages, Winning())
    for eager, graph, own, its in zip(
        tokens, replayed, reader.reference_features(pages), expected, strict=True
    ):
        for mine in (eager.tokens_TD, graph.tokens_TD, own):
            torch.testing.assert_close(mine, its, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("slots", [1, 3])
def test_tokens_are_those_of_its_own_generate(
    reader: UnlimitedReader, tokens: list[VisionTokens], expected: list[list[int]], slots: int
) -> None:
    """Also those of pages that are padded, long after the first words have left the sliding window."""
    found = read(reader, tokens, slots)
    assert [list(page.transcript.token_ids) for page in found] == expected


@torch.inference_mode()
@pytest.mark.slow
def test_several_pages_of_one_prompt_are_read_as_its_own_class_does(
    reader: UnlimitedReader, plain: Any, tokens: list[VisionTokens], pages: list[PageViews], expected: Any
) -> None:
    """With the published prompt for them, beside a page alone in the same batch."""
    settings = DecodeSettings(ngram_size=0, loop_tokens=0)
    words = "Multi page parsing."
    both = PageRequest(vision=tokens[1], beside=(tokens[2],), prompt=f"<image>{words}", settings=settings)
    single = PageRequest(vision=tokens[0], settings=settings)
    limited = [
        replace(one, settings=replace(settings, max_tokens=reader.prompted(one).num_tokens + NEW))
        for one in (both, single)
    ]
    read = {page.index: page for page in reader.engine(prompt="", num_slots=2).read(limited)}
    ids = torch.tensor([[*prompt_of(pages[1], ""), *prompt_of(pages[2], words)[1:]]])
    pixels = [pixels_of(page) for page in pages[1:]]
    output = plain.generate(
        input_ids=ids, max_new_tokens=NEW, do_sample=False, eos_token_id=EOS, pad_token_id=EOS,
        pixel_values=torch.cat([its["pixel_values"] for its in pixels]),
        pixel_values_local=torch.cat([its["pixel_values_local"] for its in pixels]),
        num_local_patches=[its["num_local_patches"][0] for its in pixels],
        patches_grid=[its["patches_grid"][0] for its in pixels],
    )  # fmt: skip
    written: list[int] = output[0, ids.shape[1] :].tolist()
    assert list(read[0].transcript.token_ids) == (written[:-1] if written[-1] == EOS else written)
    assert list(read[1].transcript.token_ids) == expected[0]


def test_its_ngram_is_the_published_one_and_bans_what_transformers_does(
    folder: Path,
    reader: UnlimitedReader,
    plain: Any,
    pages: list[PageViews],
    tokens: list[VisionTokens],
    expected: list[list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    family, facts = described(str(folder))
    assert [family.ngram(kind, facts) for kind in ("pdf", "image")] == [(35, 128)] * 2
    monkeypatch.setattr(plain.generation_config, "no_repeat_ngram_window_size", 12, raising=False)
    banned = generated(plain, pages[0], no_repeat_ngram_size=4, **pixels_of(pages[0]))
    assert banned != expected[0]
    found = read(reader, [tokens[2], tokens[0]], 2, ngram_size=4, ngram_window=12)
    assert list(found[1].transcript.token_ids) == banned


def test_an_ngram_in_its_generation_config_does_not_come_on_top(
    reader: UnlimitedReader,
    tokens: list[VisionTokens],
    expected: list[list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader.model.generation_config, "no_repeat_ngram_size", 2)
    (found,) = read(reader, tokens[:1], 1)
    assert list(found.transcript.token_ids) == expected[0]


def test_padding_is_hidden_at_every_step(reader: UnlimitedReader) -> None:
    """The last word's scores, of a page alone and beside a longer one; without its own masks they differ by 1."""
    random = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 250, (2, 40), generator=random)
    short = ids[:1, 15:]
    alone, beside = _forced(reader, short, None), _forced(reader, ids, 15)
    torch.testing.assert_close(alone[0], beside[0], atol=1e-4, rtol=1e-4)
    assert (beside[0] - beside[1]).abs().max() > 0.1


@torch.inference_mode()
def _forced(reader: UnlimitedReader, ids: Tensor, padding: int | None) -> Tensor:
    """The scores [B, steps, V] of texts that are given; a prompt is 25 tokens long, or 40."""
    seen: list[Tensor] = []

    def keep(_: Tensor, scores: Tensor) -> Tensor:
        seen.append(scores.clone())
        chosen = torch.full_like(scores, -1e9)
        chosen[:, 7 * len(seen) % 250] = 0
        return chosen

    mask = torch.ones_like(ids)
    if padding is not None:
        mask[0, :padding] = 0
    reader.model.generate(
        input_ids=ids, attention_mask=mask, logits_processor=[keep], max_new_tokens=4 * SLIDING_WINDOW,
        do_sample=False, eos_token_id=EOS, pad_token_id=EOS,
    )  # fmt: skip
    return torch.stack(seen, dim=1)


def test_a_files_own_layout_is_read_as_the_publishers(
    folder: Path, plain: Any, tokens: list[VisionTokens], expected: list[list[int]], tmp_path: Path
) -> None:
    plain.save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "unlimited_ocr"
    (found,) = read(load(tmp_path), tokens[:1], 1)
    assert list(found.transcript.token_ids) == expected[0]


def test_another_prompt_stands_around_the_page_and_is_taken_as_written(folder: Path) -> None:
    own, asked = load(folder), load(folder, "Look: <image>")
    known = find_model("baidu/Unlimited-OCR")
    assert known is not None
    assert own.output_format == known.output_format
    assert (asked.output_format.name, len(asked.prompt_ids.after)) == ("markdown", 0)
    assert len(asked.prompt_ids.before) == 1 + len("Look: ")


def test_what_a_reading_depends_on_is_in_its_hash_and_what_is_missing_is_said(
    folder: Path, tmp_path: Path
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    before = model_sha256(str(tmp_path))
    assert before == model_sha256(str(folder))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"max_patches": 6}), encoding="utf-8")
    assert model_sha256(str(tmp_path)) != before
    content = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    content["added_tokens"] = [its for its in content["added_tokens"] if its["content"] != "<image>"]
    content["model"]["vocab"].pop("<image>", None)
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(CheckpointError, match="no token '<image>'"):
        load(tmp_path)
