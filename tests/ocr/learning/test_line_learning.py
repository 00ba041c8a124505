"""Which line has which text, and that a network learns the lines it is given."""

import json
import random
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from ocr.errors import CheckpointError
from ocr.learning.learning_loop import Schedule
from ocr.learning.line_learning import LearnedLine, TuneSettings, classes_of, true_texts, tune
from ocr.line_networks.reader_net import ReaderNet, open_net
from ocr.line_reader.line_images import HEIGHT_PX
from ocr.line_reader.networks import ReaderSizes

TINY = {"width": 32, "layers": 1, "heads": 2, "stem": (8, 16, 32), "blocks": (1, 1, 1)}


@pytest.mark.parametrize(
    ("read", "truth", "expected"),
    [
        (["One lime", "of text"], "One line\nof text", ["One line", "of text"]),
        # Cells of a row of a table; a blank line between paragraphs.
        (["Tota1", "12.5O", "Nextt"], "Total 12.50\n\nNext", ["Total", "12.50", "Next"]),
        # What was left out or added at the ends of a line is its own, and no other line's.
        (["ne line", "and anothe", "xthird"], "One line\nand another\nthird", ["One line", "and another", "third"]),
        # A line that nobody wrote down, one that was not found, one that reads quite otherwise.
        (["first", "stamp", "last"], "first\nlast", ["first", None, "last"]),
        (["first", "last"], "first\nmissing\nlast", ["first", "last"]),
        (["first", "~#", "", "last"], "first\nsecond\nlast", ["first", None, None, "last"]),
        # As many lines as the text has are its lines, however they are read.
        (["~~", "#", ""], "first\n\nsecond\nlast", ["first", "second", "last"]),
        (["what", "ever"], " \n", ["", ""]),
        ([], "text", []),
    ],
)  # fmt: skip
def test_lines_get_their_part_of_the_page_s_text(
    read: list[str], truth: str, expected: list[str | None]
) -> None:
    assert true_texts(read, truth) == expected


def test_most_lines_of_a_badly_read_page_get_their_text() -> None:
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 9))) for _ in range(400)]
    lines = [" ".join(words[n : n + 8]) for n in range(0, 400, 8)]
    read = ["".join(c if rng.random() > 0.3 else "x" for c in line) for line in lines]
    found = true_texts(read, "\n".join(lines))
    assert sum(a == b for a, b in zip(found, lines, strict=True)) > 45
    assert all(a is None or a in b for a, b in zip(found, lines, strict=True))


def drawn(label: list[int]) -> LearnedLine:
    """Returns a line of bars, one a character, as high as its class."""
    image = torch.zeros(HEIGHT_PX, 24 * len(label))
    for number, c in enumerate(label):
        image[4 : 4 + 8 * c, 24 * number + 6 : 24 * number + 16] = 1.0
    return LearnedLine.of(image, label)


def test_lines_are_learned_and_the_weights_are_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(0)
    net = ReaderNet(ReaderSizes(num_classes=5, **TINY))  # type: ignore[arg-type]
    (tmp_path / "reader.json").write_text(json.dumps({**TINY, "characters": "abc"}))
    lines = [drawn(label) for label in ([2, 3, 4], [4, 4, 2], [3], [])]
    schedule = Schedule(steps=12, flat=0.5, warm_up=2, tell=6)
    mean = tune(net, lines, lines, TuneSettings(schedule=schedule, rate=1e-2, batch=4, wear=0.3))
    told = capsys.readouterr().out
    first, *_, last = (float(line.rsplit(" ", 1)[1]) for line in told.splitlines() if "kept out" in line)
    assert last < 0.7 * first
    mean.save(tmp_path / "reader.safetensors")
    again, characters = open_net(tmp_path)
    assert characters == "abc"
    assert classes_of(characters) == {" ": 1, "a": 2, "b": 3, "c": 4}
    stored = again.state_dict()["head.weight"]
    torch.testing.assert_close(stored, mean.net.state_dict()["head.weight"], atol=1e-3, rtol=1e-3)
    # Running means are those it was given.
    assert torch.equal(again.state_dict()["stem.1.running_mean"], torch.zeros(8))


def test_a_folder_without_a_reader_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="name a model that has one"):
        open_net(tmp_path)
    (tmp_path / "reader.json").write_text(json.dumps({**TINY, "characters": "abc"}))
    save_file({"other": torch.zeros(1)}, tmp_path / "reader.safetensors")
    with pytest.raises(CheckpointError, match="name a model that has one"):
        open_net(tmp_path)
