"""A few steps of training on two pages: what is written is what the numpy network reads."""

import json
import random
from itertools import count, islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pymupdf
import pytest
import torch
from safetensors.numpy import load_file, save_file

from ocr.learning import learning_loop
from ocr.orientation import net
from ocr.orientation.line_samples import PIECE_HEIGHT, PIECE_WIDTH
from ocr.orientation.net import WEIGHTS, Net
from ocr.training import line_orientation
from ocr.training.line_orientation import Network, pieces_of, sources, worn
from tests.ocr.training.sources import SENTENCE, make_corpus

_STEPS = 12


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Returns a corpus with a document."""
    folder = make_corpus(tmp_path / "data")
    (folder / "pdfs").mkdir()
    with pymupdf.open() as document:
        page = document.new_page()
        for number in range(34):
            page.insert_text((50, 70 + 20 * number), SENTENCE, fontsize=11, fontname="tiro")
        document.save(folder / "pdfs" / "a.pdf")
    (folder / "pdfs" / "index.json").write_text(
        json.dumps([{"file": "a.pdf", "split": "train", "pages": [0]}])
    )
    return folder


def test_sources_are_pages_with_text_and_pictures_without(data: Path) -> None:
    drawn = list(islice(sources(random.Random(0), data), 24))
    assert {text for _, text in drawn} == {True, False}
    for draw, _ in drawn:
        page = draw(600)
        assert page.dtype == np.uint8
        assert page.ndim == 2
        assert 500 <= max(page.shape) <= 700


def test_pieces_are_of_one_size_and_never_labelled_upside_down(data: Path) -> None:
    rng = random.Random(1)
    draw, text = next(page for page in sources(rng, data) if page[1])
    frames = list(pieces_of(rng, draw, text=text))
    assert len(frames) == 2
    # One of the two frames shows the lines level, turned to stand upright; the other shows them on their side.
    assert {label for _, labels in frames for label in labels} == {0, 2}
    for pieces, labels in frames:
        assert pieces.shape == (len(labels), PIECE_HEIGHT, PIECE_WIDTH)
        assert pieces.dtype == np.uint8


def test_wear_keeps_the_size() -> None:
    page = np.full((200, 150), 255, np.uint8)
    assert all(worn(random.Random(seed), page).shape == page.shape for seed in range(20))


def test_the_written_weights_say_in_numpy_what_the_network_says(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = Network()
    save_file(network.weights(), tmp_path / "net.safetensors")
    written = {
        name: value.astype(np.float32) for name, value in load_file(tmp_path / "net.safetensors").items()
    }
    assert {name: value.shape for name, value in written.items()} == {
        name: value.shape for name, value in load_file(WEIGHTS).items()
    }
    pieces = np.random.default_rng(0).uniform(0, 1, (5, PIECE_HEIGHT, PIECE_WIDTH)).astype(np.float32)
    with torch.inference_mode():
        expected = network(torch.from_numpy(pieces)).log_softmax(1).numpy()
    # The weights are kept in half precision.
    assert Net(written).log_odds(pieces) == pytest.approx(expected, abs=5e-3)


def test_a_few_steps_on_two_pages_are_written_and_read_back(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = tmp_path / "net.safetensors"
    command = ["orientation", str(data), str(written), "--pages", "2", "--seconds", str(_STEPS)]
    monkeypatch.setattr("sys.argv", command)
    # A second a step, however long one takes.
    monkeypatch.setattr(learning_loop, "time", SimpleNamespace(monotonic=count().__next__))
    random.seed(0)
    line_orientation.main()

    torch.manual_seed(0)
    untrained = Net({name: value.astype(np.float32) for name, value in Network().weights().items()})
    monkeypatch.setattr(net, "WEIGHTS", written)
    trained = net.shipped.__wrapped__()
    rng = random.Random(5)
    draw, text = next(page for page in sources(rng, data) if page[1])
    pieces, labels = map(np.concatenate, zip(*pieces_of(rng, draw, text=text), strict=True))
    before, after = (
        -network.log_odds((pieces / 255).astype(np.float32))[np.arange(len(labels)), labels].mean()
        for network in (untrained, trained)
    )
    assert after < before
