"""Both trainings at tiny sizes: losses fall on one page, weights load in production, runs end and go on."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rapidfuzz.distance import Levenshtein
from safetensors.torch import load_file

from ocr.line_networks.finder_net import FinderNet
from ocr.line_networks.reader_net import ReaderNet
from ocr.line_reader.networks import ReaderSizes
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.training.lines import train_finder, train_reader
from ocr.training.lines.finder_targets import targets
from ocr.training.lines.line_batches import Lines, cut_lines, joined
from ocr.training.lines.page_pool import PagePool
from ocr.training.lines.page_streams import UNKNOWN, CellBatch, LineBatch, line_batch
from ocr.training.lines.train_finder import FinderTraining
from ocr.training.lines.train_reader import (
    ReaderTraining,
    aligned,
    fast,
    losses,
    readings,
    teacher_loss,
    with_more,
)
from tests.ocr.training.lines.printed_lines import printed

TINY = {"width": 32, "layers": 1, "heads": 2, "stem": (8, 16, 32), "blocks": (1, 1, 1)}
CPU = torch.device("cpu")
PAGE = printed([("tiny text", 20, 60, 30), ("some more", 30, 130, 30), ("of it", 240, 210, 30)])


@pytest.fixture
def data(corpus: Path, characters: str) -> Path:
    (corpus / "characters.json").write_text(json.dumps(characters), encoding="utf-8")
    return corpus


def given(data: Path, out: Path, *more: str) -> list[str]:
    options = ["--device", "cpu", "--workers", "0", "--pages", "1", "--steps", "2", "--tell", "1"]
    return ["--data", str(data), "--out", str(out), *options, *more]


def lines_of(batch: LineBatch) -> Lines:
    torch.manual_seed(0)
    widest = list(cut_lines(batch, CPU, strength=0.0, jitter=0.0))
    return joined([lines for lines in widest if lines.images.shape[3] == widest[-1].images.shape[3]])


def test_the_reader_learns_a_page(data: Path, tmp_path: Path) -> None:
    made = ReaderTraining(train_reader.arguments(given(data, tmp_path)), TINY)
    classes = {" ": 1, **{c: i + 2 for i, c in enumerate(made.characters)}}
    lines = lines_of(line_batch([PAGE], classes))
    first = losses(made.net, lines)["ctc"].item()
    for _ in range(12):
        loss = losses(made.net, lines)["ctc"]
        made.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        made.optimiser.step()
    assert losses(made.net, lines)["ctc"].item() < 0.7 * first
    read = list(readings(made.net.eval(), line_batch([PAGE], classes), CPU, 0.0))
    assert sum(Levenshtein.distance(*pair) for pair in read) > 0.1 * sum(len(label) for _, label in read)


def test_the_finder_learns_a_page(data: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    made = FinderTraining(train_finder.arguments(given(data, tmp_path)))
    made.net = FinderNet((4, 8, 8, 8, 8))
    optimiser = torch.optim.AdamW(made.net.parameters(), 5e-3)
    batch = CellBatch(
        pixels=torch.from_numpy(PAGE.pixels)[None],
        cells=torch.from_numpy(targets(PAGE.places, PAGE.others, *PAGE.pixels.shape))[None],
    )
    seen = []
    for _ in range(25):
        loss = torch.stack(list(made.losses(batch, 0.0).values())).sum()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        seen.append(loss.item())
    assert min(seen[-5:]) < 0.7 * seen[0]


def test_both_run_save_what_production_loads_and_go_on(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ReaderTraining(train_reader.arguments(given(data, tmp_path, "--batch-px", "960")), TINY).run()
    FinderTraining(train_finder.arguments(given(data, tmp_path))).run()
    told = capsys.readouterr().out
    assert told.count("done: 2 steps, HELD-OUT pages: ") == 2
    assert "wear 0: " in told
    assert "F1 of cells" in told

    reader = LineReader.load(tmp_path)
    read = reader.read(darkness_of(PAGE.pixels), reader.find(darkness_of(PAGE.pixels)))
    assert all(0 <= line.confidence <= 1 for line in read)

    again = ReaderTraining(train_reader.arguments(given(data, tmp_path / "b", "--weights", str(tmp_path))))
    assert {name: getattr(again.net.sizes, name) for name in ("width", "layers", "heads")} == {
        name: TINY[name] for name in ("width", "layers", "heads")
    }
    stored = load_file(tmp_path / "reader.safetensors")
    for name, value in again.net.state_dict().items():
        torch.testing.assert_close(value, stored[name].to(value.dtype), msg=name)
    FinderTraining(train_finder.arguments(given(data, tmp_path / "b", "--weights", str(tmp_path)))).run()
    assert capsys.readouterr().out.startswith("at the start, HELD-OUT pages: F1 of cells")


def test_lines_without_text_are_learned_as_nothing(data: Path, tmp_path: Path) -> None:
    made = ReaderTraining(train_reader.arguments(given(data, tmp_path)), TINY)
    classes = {" ": 1, **{c: i + 2 for i, c in enumerate(made.characters)}}
    noted = replace(
        PAGE, places=PAGE.places[:1], texts=PAGE.texts[:1], read_only=PAGE.places[1:], read_texts=("", "")
    )
    batch = line_batch([noted], classes)
    assert batch.lengths.tolist() == [len("tiny text"), 0, 0]
    torch.manual_seed(0)
    cut = list(cut_lines(batch, CPU, strength=0.0, jitter=0.0))
    seen = []
    for _ in range(12):
        loss = torch.stack([losses(made.net, lines)["ctc"] for lines in cut]).sum()
        made.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        made.optimiser.step()
        seen.append(loss.item())
    assert seen[-1] < 0.7 * seen[0]
    with torch.no_grad():
        nothing = next(lines for lines in cut if not sum(map(len, lines.labels)))
        assert losses(made.net, nothing)["ctc"].isfinite()
    assert [label for _, label in readings(made.net.eval(), batch, CPU, 0.0)].count([]) == 2
    blank = line_batch([replace(noted, read_only=PAGE.places[:0], read_texts=())], classes)
    assert all(label for _, label in readings(made.net, blank, CPU, 0.0))


def test_a_teacher_s_letters_are_learned_with_and_without_labels(data: Path, tmp_path: Path) -> None:
    ReaderTraining(train_reader.arguments(given(data, tmp_path / "large")), TINY).save()
    options = given(data, tmp_path / "small", "--teacher", str(tmp_path / "large"), "--batch-px", "960")
    made = ReaderTraining(train_reader.arguments(options), {**TINY, "layers": 2})
    unknown = line_batch([replace(PAGE, texts=("\ufffd",) * 3)], {" ": 1}, unlabelled=True)
    assert unknown.labels.tolist() == [UNKNOWN] * 3
    assert made.teacher
    made.teacher.head.bias[2] = 5.0  # of the frame that comes first: it reads something
    lines = lines_of(unknown)
    first = losses(made.net, lines, made.teacher)
    otherwise = replace(lines, labels=[torch.tensor([1, 1])] * len(lines.labels))
    assert losses(made.net, otherwise, made.teacher)["teacher"] > first["teacher"] > 0
    for _ in range(8):
        made.optimiser.zero_grad()
        torch.stack(list(losses(made.net, lines, made.teacher).values())).sum().backward()  # type: ignore[no-untyped-call]
        made.optimiser.step()
    then = losses(made.net, lines, made.teacher)
    assert all(then[name] < 0.9 * first[name] for name in ("ctc", "teacher"))
    made.run()
    config = json.loads((tmp_path / "small/reader.json").read_text(encoding="utf-8"))
    assert (config["layers"], config["frames"]) == (2, 2)
    with pytest.raises(ValueError, match="other frames"):
        ReaderTraining(train_reader.arguments(options), {**TINY, "frames": 3})
    (data / "characters.json").write_text('"abc"', encoding="utf-8")
    with pytest.raises(ValueError, match="other characters"):
        ReaderTraining(train_reader.arguments(options))


def test_new_letters_begin_as_less_likely_ones_of_what_they_are_made_of() -> None:
    torch.manual_seed(0)
    net = ReaderNet(ReaderSizes(num_classes=5, **TINY)).eval()
    wide = with_more(net, "aez", "aezẹ★").eval()
    images, widths = torch.rand(1, 1, 40, 64), torch.tensor([64])
    with torch.inference_mode():
        before, after = net(images, widths)[0], wide(images, widths)[0]
    torch.testing.assert_close(after[..., :5], before)
    torch.testing.assert_close(after[..., 5:], before[..., [3, 0]] - 6)
    assert with_more(net, "aez", "aez").sizes == net.sizes


def test_what_a_teacher_reads_counts_for_each_of_its_letters() -> None:
    taught = torch.full((1, 5, 4), -20.0)
    taught[0, :, 0] = 0.0
    taught[0, 3] = torch.tensor([-20.0, -20.0, -0.1, -2.35])
    counted = torch.tensor([5])
    assert teacher_loss(taught, taught.exp(), counted).item() == pytest.approx(0, abs=1e-6)
    assert teacher_loss(taught.roll(1, 1), taught.exp(), counted).item() > 1
    assert teacher_loss(taught.roll(1, 2), taught.exp(), counted).item() > 1
    assert teacher_loss(taught.roll(1, 1), taught.exp(), torch.tensor([2])).item() == pytest.approx(
        0, abs=1e-6
    )


def test_a_line_read_otherwise_is_taught_in_the_frames_in_which_the_teacher_tells_something() -> None:
    """Frame 1 says 2 and maybe 3, frame 3 says 4, or 0 at even chances; frames 2 and 4 could also be wider letters."""
    shares = torch.full((2, 6, 5), 0.001)
    shares[:, :, 0] = 0.99
    shares[0, 1] = torch.tensor([0.01, 0.001, 0.9, 0.05, 0.001])
    shares[0, 3] = torch.tensor([0.5, 0.001, 0.001, 0.001, 0.49])
    shares[0, 4, 4] = 0.3
    log_probs = (shares / shares.sum(2, keepdim=True)).log()
    told = aligned(
        log_probs, torch.tensor([6, 6]), [torch.tensor([3, 4]), torch.tensor([], dtype=torch.int64)]
    )
    torch.testing.assert_close(told.sum(2), torch.ones(2, 6))
    assert told.argmax(2).tolist() == [[0, 3, 0, 4, 0, 0], [0] * 6]
    assert told[0, 1, 3] > 0.99
    assert told[0, 3, 4] > 0.85
    nothing = aligned(log_probs, torch.tensor([6, 6]), [torch.tensor([], dtype=torch.int64)] * 2)
    assert nothing.argmax(2).tolist() == [[0] * 6] * 2


def test_the_stem_s_layout_changes_no_output() -> None:
    torch.manual_seed(0)
    plain, quick = (ReaderNet(ReaderSizes(num_classes=5, **TINY)).eval() for _ in range(2))
    quick.load_state_dict(plain.state_dict())
    fast(quick)
    images, widths = torch.rand(3, 1, 40, 64), torch.tensor([64, 40, 9])
    with torch.inference_mode():
        torch.testing.assert_close(quick(images, widths)[0], plain(images, widths)[0], atol=1e-5, rtol=1e-4)


def test_a_pool_waits_for_pages_and_tells_what_ended_them() -> None:
    batch = CellBatch(pixels=torch.zeros(1), cells=torch.zeros(1))
    over = threading.Event()

    def source() -> Iterator[CellBatch]:
        yield from [batch] * 3
        over.wait(60)

    pool = PagePool(source(), held=2, uses=1.0)
    for _ in range(8):
        assert pool.draw().cells.shape == (1,)
    assert (pool.arrived, pool.used) == (3, 8)
    over.set()
    with pytest.raises(EOFError, match="no more pages"):
        pool.draw()
