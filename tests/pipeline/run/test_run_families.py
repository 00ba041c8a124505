"""Models of other families go through a run as DeepSeek-OCR does: the same rows, stages, retries and hashes."""

import json
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.video_timing import VideoTiming
from encoders.views import PageViews
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.errors import CheckpointError
from ocr.families.catalogue import known_model
from ocr.families.catalogue.published_models import Licence, published_models
from ocr.families.published.processors import Prompting
from ocr.families.registry import described, family_of
from ocr.transcript import formats
from pipeline.config import sources
from pipeline.config.schema import Config
from pipeline.reports.progress import Silent
from pipeline.run.runner import run
from pipeline.stop import Stop
from storage.database import open_for_reading
from storage.queries.statistics import status
from tests.ocr.families.minicpm import tiny_minicpm
from tests.ocr.families.opening import opened
from tests.ocr.families.published import tiny_published
from tests.ocr.families.unlimited_ocr import tiny_unlimited
from tests.pipeline.conftest import Batch
from tests.pipeline.documents.videos.made_videos import decoded, save_frames, save_video
from tests.pipeline.runs import changed, rows, run_quietly

# Prompts of the tiny models are of many bytes, each a token. No model ends by itself: what is left is written full, and
# is little, for speed.
MAX_TOKENS, MAX_VIDEO_TOKENS = 90, 170
# Where a page's views have a size of their own, and more vision tokens than that; and of the shortest prompts.
MOST_TOKENS = {"MiniCPM-V 2.5": 100, "Unlimited-OCR": 16 * 17 + 1 + 20, "Qwen3-VL": 60}


def minicpm(version: str) -> Callable[[Path], Path]:
    def save(folder: Path) -> Path:
        config = tiny_minicpm.config_json(version)
        tiny_minicpm.save(tiny_minicpm.plain_model(version, config), config, folder)
        tiny_minicpm.tokenizer().save(str(folder / "tokenizer.json"))
        return folder

    return save


def published(model_type: str) -> Callable[[Path], Path]:
    return lambda folder: tiny_published.save(model_type, folder)


MODELS = {
    "MiniCPM-V 2.5": (minicpm("2.5"), {"slices"}),
    "MiniCPM-V 4.5": (minicpm("4.5"), {"slices"}),
    "Qwen3-VL": (published("qwen3_vl"), {"image", "video"}),
    "Qwen2.5-VL": (published("qwen2_5_vl"), {"image", "video"}),
    "LightOnOCR": (published("lighton_ocr"), {"image"}),
    "PaddleOCR-VL": (published("paddleocr_vl"), {"image"}),
    "HunyuanOCR": (published("hunyuan_vl"), {"image"}),
    "Unlimited-OCR": (tiny_unlimited.save, {"global", "local"}),
}


def one_quick(*names: str) -> list[Any]:
    """Returns the models' names as parameters, all but the first for the slow tests."""
    return [names[0], *(pytest.param(name, marks=pytest.mark.slow) for name in names[1:])]


# Whose own processor makes a page's inputs.
PROCESSED = ("LightOnOCR", "PaddleOCR-VL", "HunyuanOCR")


def config_of(
    model: Path, docs: Path, database: str, prompt: str | None = "<image>Read", **more: Any
) -> Config:
    off = [
        "text_layer=ignore", "ladder.rungs=[]", "decode.loop.tokens=0", "device=cpu", "threads=1",
        "words=off",
    ]  # fmt: skip
    values = {
        "ingest": {"paths": [str(docs)]},
        "store": {"database": database, "doubtful_below": 0.0},
        "model": str(model),
        "decode": {"max_tokens": MAX_TOKENS, "prompt": prompt},
        **more,
    }
    return sources.load(None, off, [("test", values)])


@torch.inference_mode()
def read_apart(
    model: Path, pixels: np.ndarray[Any, Any], max_tokens: int = MAX_TOKENS, timing: VideoTiming | None = None
) -> str:
    """Returns the text of a page [H, W, 3], or of a video [T, H, W, 3], that is read alone, without a run."""
    family, facts = described(str(model))
    size, window = family.ngram("image", facts)
    loaded: Any = opened(model, "<image>Read")
    maker: Any = family.view_maker(model) if pixels.ndim == 3 else family.video_maker(model)
    views, encoder = (
        [maker(pixels) if timing is None else maker(pixels, timing)],
        loaded.vision_encoder("gundam"),
    )
    manager = EncoderGraphManager(encoder.paths, GraphSettings(), encoder.device)
    views = [encoder.prepared(page) for page in views]
    outputs = {name: encoder.encode(manager, name, views)[0] for name in encoder.path_names}
    (tokens,) = encoder.assemble(views, outputs)
    settings = DecodeSettings(max_tokens=max_tokens, ngram_size=size, ngram_window=window, loop_tokens=0)
    (read,) = loaded.engine(prompt="", num_slots=1).read([PageRequest(vision=tokens, settings=settings)])
    height, width, _ = pixels.shape[-3:]
    raw = read.transcript.raw
    return formats.parse(raw, loaded.output_format, loaded.tokenizer, width_px=width, height_px=height).text


@pytest.mark.parametrize("name", one_quick("Qwen3-VL", *(name for name in MODELS if name != "Qwen3-VL")))
def test_pages_become_rows_with_the_texts_of_the_model(name: str, batch: Batch, tmp_path: Path) -> None:
    save, paths = MODELS[name]
    model = save(tmp_path / "model")
    random = np.random.default_rng(0)
    pictures = [random.integers(0, 256, (*size, 3), np.uint8) for size in ((120, 90), (70, 140))]
    for number, pixels in enumerate(pictures):
        Image.fromarray(pixels).save(batch.docs / f"{number}.png")
    batch.pdf("a.pdf", ["one", ""])
    max_tokens = MOST_TOKENS.get(name, MAX_TOKENS)
    config = changed(config_of(model, batch.docs, batch.database), decode={"max_tokens": max_tokens})

    summary = run_quietly(config)

    assert sum(summary.pages.values()) == 4
    assert summary.pages["blank"] >= 1
    found = {(Path(row["path"]).name, row["page"]): row for row in rows(batch.database)}
    for number, pixels in enumerate(pictures):
        assert found[f"{number}.png", 1]["text"].strip() == read_apart(model, pixels, max_tokens).strip()
    stages = {f"encode_{path}" for path in paths} | {"decode_prefill", "decode_generate", "render", "place"}
    assert stages <= set(found["0.png", 1]["timings"])
    assert ("prepare" in found["0.png", 1]["timings"]) == (name in PROCESSED)
    assert {status for _, status in ((key, row["status"]) for key, row in found.items())} <= {
        "ok", "blank", "truncated", "doubtful",
    }  # fmt: skip
    with closing(open_for_reading(batch.database)) as db:
        assert set(status(db).runs[0].encoder or {}) == paths
    assert run_quietly(config).pages["blank"] == 0, "only what was cut short is tried again"
    again = run_quietly(changed(config, decode={"prompt": "<image>Again"}))
    assert sum(again.pages.values()) == 4, "another prompt reads all of them"


@pytest.mark.parametrize("model_type", ["paddleocr_vl", "got_ocr2"])
@pytest.mark.usefixtures("read_is_their_own_prompt")
def test_a_models_own_processor_runs_beside_the_encoder(
    model_type: str, batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a page that it cannot take, the run says so, and reads the others."""
    real, threads = Prompting.__call__, []

    def prompting(self: Prompting, views: PageViews, **changes: Any) -> dict[str, torch.Tensor]:
        threads.append(threading.current_thread().name)
        if views.global_view.shape[1:] == (50, 200):
            raise ValueError("absolute aspect ratio must be smaller")
        return real(self, views, **changes)

    monkeypatch.setattr(Prompting, "__call__", prompting)
    random = np.random.default_rng(0)
    for number, size in enumerate([(120, 90), (50, 200), (70, 140)]):
        Image.fromarray(random.integers(0, 256, (*size, 3), np.uint8)).save(batch.docs / f"{number}.png")
    run_quietly(config_of(published(model_type)(tmp_path / "model"), batch.docs, batch.database))
    assert threads == ["preparer"] * 3
    first, second, third = sorted(rows(batch.database), key=lambda row: str(row["path"]))
    assert (second["status"], second["error"]["stage"]) == ("failed", "prepare")
    assert "aspect ratio" in second["error"]["message"]
    assert first["status"] != "failed" != third["status"]
    assert first["timings"].keys() >= {"prepare", "encode_image"}


def test_a_run_that_is_stopped_while_pages_are_prepared_loses_none(
    batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, stop = Prompting.__call__, Stop()

    def prompting(self: Prompting, views: PageViews, **changes: Any) -> dict[str, torch.Tensor]:
        stop.request("enough")
        return real(self, views, **changes)

    pictures = np.random.default_rng(0).integers(0, 256, (2, 70, 90, 3), np.uint8)
    for number, pixels in enumerate(pictures):
        Image.fromarray(pixels).save(batch.docs / f"{number}.png")
    model = published("paddleocr_vl")(tmp_path / "model")
    config = config_of(model, batch.docs, batch.database)
    with monkeypatch.context() as patch:
        patch.setattr(Prompting, "__call__", prompting)
        assert run(config, Silent(), stop).stopped
    run_quietly(config)
    found = {Path(row["path"]).name: row["text"].strip() for row in rows(batch.database)}
    assert found == {f"{number}.png": read_apart(model, its).strip() for number, its in enumerate(pictures)}


def renamed(model: Path, names: dict[int, str]) -> Path:
    """Has tokens of a tiny model, each a byte that no prompt holds, stand for other texts."""
    path = model / "tokenizer.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    spelled = {token: name.replace(" ", "Ġ").replace("\n", "Ċ") for token, name in names.items()}
    vocab = content["model"]["vocab"]
    content["model"]["vocab"] = {spelled.get(token, sign): token for sign, token in vocab.items()}
    path.write_text(json.dumps(content), encoding="utf-8")
    return model


def read_one(model: Path, docs: Path, database: str, **more: Any) -> dict[str, Any]:
    """Returns the row of a page of noise, 90 x 120 px."""
    pixels = np.random.default_rng(0).integers(0, 256, (120, 90, 3), np.uint8)
    Image.fromarray(pixels).save(docs / "a.png")
    run_quietly(config_of(model, docs, database, **more))
    (row,) = rows(database)
    return row


@pytest.fixture
def read_is_their_own_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the table say so of all models: the published ones are too long for tiny models, a token a byte."""
    table = tuple(replace(model, prompts={"page": "Read"}) for model in published_models())
    monkeypatch.setattr(known_model, "published_models", lambda: table)


@pytest.mark.usefixtures("read_is_their_own_prompt")
def test_markup_reaches_the_rows_as_markdown_text_and_blocks(batch: Batch, tmp_path: Path) -> None:
    model = published("granite_docling")(tmp_path / "model")
    tags = {207: "<heading>", 223: "<loc_0><loc_0><loc_256><loc_512>"}  # what it begins with
    row = read_one(renamed(model, tags), batch.docs, batch.database)
    title = row["text"]
    assert set(title) == {"c"}, "what it goes on with"
    assert row["markdown"] == f"# {title}"
    (block,) = row["blocks"]
    assert (block["label"], block["text"], block["box"]) == ("title", f"# {title}", (0, 0, 45, 120))


def test_what_another_prompt_makes_of_a_page_is_taken_as_written(batch: Batch, tmp_path: Path) -> None:
    """The same tokens as above: the table has `<doclang>` for pages, so the markup may mean anything."""
    model = published("granite_docling")(tmp_path / "model")
    tags = {207: "<heading>", 223: "<loc_0><loc_0><loc_256><loc_512>"}
    row = read_one(renamed(model, tags), batch.docs, batch.database)
    assert row["text"].startswith("<heading><loc_0><loc_0><loc_256><loc_512>cc")
    assert row["markdown"] == row["text"]


@pytest.mark.usefixtures("read_is_their_own_prompt")
def test_what_a_format_has_besides_text_does_not_reach_the_rows(batch: Batch, tmp_path: Path) -> None:
    model = published("qwen2_5_vl")(tmp_path / "model")
    begins = {2: "---\nis_table: True\n---\n", 254: "<table><tr><td>", 209: "one</td></tr></table>"}
    row = read_one(renamed(model, begins), batch.docs, batch.database, model_entry="olmOCR 2")
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    assert row["markdown"].startswith("<table><tr><td>one</td></tr></table>")
    assert row["text"].startswith("one")
    assert not [token for token in (*special, "<td>") if token in row["text"]]
    assert row["blocks"][0]["label"] == "table"


@pytest.mark.parametrize("file", ["preprocessor_config.json", "tokenizer_config.json"])
def test_what_a_processor_reads_decides_whether_pages_were_read(
    file: str, batch: Batch, tmp_path: Path
) -> None:
    model = tiny_published.save("lighton_ocr", tmp_path / "model")
    Image.new("L", (90, 120), 255).save(batch.docs / "a.png")  # blank, so that it is done at once
    config = config_of(model, batch.docs, batch.database)
    assert [sum(run_quietly(config).pages.values()) for _ in range(2)] == [1, 0]
    path = model / file
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert sum(run_quietly(config).pages.values()) == 1


@pytest.mark.parametrize("name", one_quick("Qwen3-VL", "Qwen2.5-VL", "MiniCPM-V 4.5"))
def test_a_file_of_16_frames_is_one_page_read_as_a_video(name: str, batch: Batch, tmp_path: Path) -> None:
    save, _ = MODELS[name]
    model = save(tmp_path / "model")
    greys = np.random.default_rng(0).integers(0, 256, (16, 30, 40), np.uint8)
    first, *rest = [Image.fromarray(frame) for frame in greys]
    Image.fromarray(greys[0]).save(batch.docs / "single.png")
    config = config_of(model, batch.docs, batch.database)
    config = changed(config, ingest={"video": True}, decode={"max_tokens": MAX_VIDEO_TOKENS})
    frames = greys[..., None].repeat(3, -1)
    for form in ("TIFF", "GIF"):
        file = batch.docs / f"a.{form.lower()}"
        first.save(file, format=form, save_all=True, append_images=rest)
        with Image.open(file) as opened:
            assert np.array_equal([np.asarray(_frame(opened, index)) for index in range(16)], frames)

    assert sum(run_quietly(config).pages.values()) == 3

    found = {Path(row["path"]).name: row["text"].strip() for row in rows(batch.database)}
    as_video = read_apart(model, frames, max_tokens=MAX_VIDEO_TOKENS).strip()
    as_page = read_apart(model, frames[0], max_tokens=MAX_VIDEO_TOKENS).strip()
    assert found == {"a.tiff": as_video, "a.gif": as_video, "single.png": as_page}
    assert "" != as_video != as_page


@pytest.mark.parametrize("name", one_quick("Qwen3-VL", "Qwen2.5-VL", "MiniCPM-V 4.5"))
def test_a_video_file_and_a_folder_of_frames_are_one_page_each(
    name: str, batch: Batch, tmp_path: Path
) -> None:
    model = MODELS[name][0](tmp_path / "model")
    frames = np.random.default_rng(0).integers(0, 256, (16, 30, 40, 3), np.uint8)
    file = save_video(batch.docs / "a.mp4", frames)
    folder = save_frames(batch.docs / "clips" / "b", frames)
    (folder / "notes.txt").write_text("no frame")
    config = changed(config_of(model, batch.docs, batch.database), decode={"max_tokens": MAX_VIDEO_TOKENS})
    as_videos = changed(config, ingest={"video": True, "video_folders": ["clips/*"]})

    summary = run_quietly(as_videos)

    assert sum(summary.pages.values()) == 2
    assert summary.documents == {"ok": 2, "skipped": 1}
    found = {Path(row["path"]).name: row for row in rows(batch.database)}
    timing = VideoTiming(rate=8, total=16, indices=family_of(model).video_maker(model).shown(16, 8))  # type: ignore[union-attr]
    shown = decoded(file)[list(timing.indices)]
    assert 4 <= len(shown) < 16
    assert found["a.mp4"]["text"].strip() == read_apart(model, shown, MAX_VIDEO_TOKENS, timing).strip()
    assert found["b"]["text"].strip() == read_apart(model, frames, max_tokens=MAX_VIDEO_TOKENS).strip() != ""
    again = sum(run_quietly(as_videos).pages.values())
    assert again == sum(row["status"] == "truncated" for row in found.values())

    Image.fromarray(frames[0]).save(folder / "frame7.png")
    assert sum(run_quietly(as_videos).pages.values()) == again + (found["b"]["status"] != "truncated")
    config = changed(config, decode={"max_tokens": MOST_TOKENS.get(name, MAX_TOKENS)})
    assert sum(run_quietly(config).pages.values()) == 15, "each picture of its own, the first twice; no video"
    with closing(open_for_reading(batch.database)) as db:
        ((status, reason),) = db.execute(
            "SELECT status, reason FROM files WHERE path LIKE '%a.mp4'"
        ).fetchall()
    assert status == "skipped"
    assert "ingest.video" in reason


def test_broken_videos_are_rows_with_a_reason(batch: Batch, tmp_path: Path) -> None:
    model = MODELS["Qwen3-VL"][0](tmp_path / "model")
    frames = np.random.default_rng(0).integers(0, 256, (32, 30, 40, 3), np.uint8)
    for name in ("cut.mp4", "cut.mkv"):
        path = save_video(batch.docs / name, frames)
        path.write_bytes(path.read_bytes()[: path.stat().st_size * 3 // 4])
    (batch.docs / "empty.mp4").write_bytes(b"")
    folder = save_frames(batch.docs / "clips", frames[:4])
    (folder / "frame2.png").write_bytes((folder / "frame2.png").read_bytes()[:-900])
    config = changed(
        config_of(model, batch.docs, batch.database),
        decode={"max_tokens": MAX_VIDEO_TOKENS},
        ingest={"video": True, "video_folders": ["clips"]},
    )
    summary = run_quietly(config)
    assert summary.documents == {"broken": 2, "ok": 2}
    found = {Path(row["path"]).name: row for row in rows(batch.database)}
    assert found["cut.mkv"]["status"] in ("doubtful", "truncated"), "the model ends as it likes"
    assert "breaks off after" in found["cut.mkv"]["doubt"]
    assert found["cut.mkv"]["text"]
    assert found["clips"]["status"] == "failed"
    assert "frame2.png" in found["clips"]["error"]["message"]
    with closing(open_for_reading(batch.database)) as db:
        reasons = dict(db.execute("SELECT path, reason FROM files WHERE status = 'broken'").fetchall())
    assert {Path(path).name: "cannot be opened" in reason for path, reason in reasons.items()} == {
        "cut.mp4": True, "empty.mp4": False,
    }  # fmt: skip


def _frame(image: Image.Image, index: int) -> Image.Image:
    image.seek(index)
    return image.convert("RGB")


def test_frames_are_pages_unless_videos_are_asked_for_and_not_all_models_read_them(
    batch: Batch, tmp_path: Path
) -> None:
    first, *rest = [Image.effect_noise((40, 30), 90) for _ in range(3)]
    first.save(batch.docs / "a.tiff", save_all=True, append_images=rest)
    model = MODELS["LightOnOCR"][0](tmp_path / "model")
    config = config_of(model, batch.docs, batch.database)
    assert sum(run_quietly(config).pages.values()) == 3
    with pytest.raises(CheckpointError, match="reads no videos"):
        run_quietly(changed(config, ingest={"video": True}))


def test_another_prompt_in_the_table_has_pages_read_again(
    batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an update. Another licence has not."""
    model = tiny_published.save("lighton_ocr", tmp_path / "model")
    Image.new("L", (90, 120), 255).save(batch.docs / "a.png")  # blank, so that it is done at once
    config = config_of(model, batch.docs, batch.database)
    assert [sum(run_quietly(config).pages.values()) for _ in range(2)] == [1, 0]
    known = published_models()
    for changes, num_read in (
        ({"licence": Licence(name="X", commercial="forbidden")}, 0),
        ({"prompts": {"page": "X"}}, 1),
    ):
        table = tuple(replace(model, **changes) for model in known)
        monkeypatch.setattr(known_model, "published_models", lambda table=table: table)
        assert sum(run_quietly(config).pages.values()) == num_read
