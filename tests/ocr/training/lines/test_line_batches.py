"""Lines cut on the training device look as they do when a page is read, and are those they are named for."""

import numpy as np
import pytest
import torch

from ocr.line_reader.line_images import HEIGHT_PX, line_image, normalised
from ocr.line_reader.reading import darkness_of
from ocr.training.lines import line_batches
from ocr.training.lines.line_batches import Atlas, cut_lines, normalised_lines, plan
from ocr.training.lines.page_lines import DrawnPage
from ocr.training.lines.page_streams import line_batch
from tests.ocr.training.lines.printed_lines import printed, text_line

CPU = torch.device("cpu")
CLASSES = {" ": 1, **{c: i + 2 for i, c in enumerate("abcdefghijklmnopqrstuvwxyz")}}


@pytest.fixture
def _plain_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves as much paper beside lines as the reader does."""
    monkeypatch.setattr(line_batches, "_BESIDE", (0.25, 0.25))


def alone(page: DrawnPage) -> torch.Tensor:
    """Returns the image of a page's only line, as the reader sees it."""
    return torch.from_numpy(normalised(line_image(darkness_of(page.pixels), text_line(page.places[0]))))


@pytest.mark.usefixtures("_plain_margins")
@pytest.mark.parametrize("size", [16, 30, 48, 90, 150])
def test_one_line_looks_alike_cut_in_training_and_in_reading(size: int) -> None:
    page = printed([("hamburgefonts", 40, 190, size)], (256, 1280))
    cuts = plan(torch.from_numpy(page.places), 0.0)
    darkness = torch.from_numpy(darkness_of(page.pixels) / np.float32(255))[None, None]
    (image,) = Atlas(darkness).cut(torch.zeros(1), cuts, int(cuts.width))[0]
    expected = alone(page)
    assert image.shape == expected.shape
    # Halved pages are halved from their corner, windows from their own.
    assert float((image - expected).abs().mean()) < (1e-4 if size < 60 else 0.03)


def test_a_slanted_line_is_level() -> None:
    page = printed([("n" * 20, 40, 100, 32)])
    sheared = np.stack([np.roll(page.pixels[:, x], round(0.05 * (x - 40))) for x in range(512)], axis=1)
    places = torch.from_numpy(page.places)
    slanted = places.clone()
    slanted[:, 3] = 0.05
    images = []
    for pixels, given in ((page.pixels, places), (sheared, slanted)):
        torch.manual_seed(0)
        cuts = plan(given, 0.0)
        images.append(
            Atlas(torch.from_numpy(darkness_of(pixels) / np.float32(255))[None, None]).cut(
                torch.zeros(1), cuts, 512
            )
        )
    assert float((images[0] - images[1]).abs().mean()) < 0.05


@pytest.mark.usefixtures("_plain_margins")
def test_cut_lines_show_the_text_they_are_named_for() -> None:
    lines = [
        [("first", 20, 60, 24), ("second line", 150, 130, 30)],
        [("third", 30, 90, 40), ("unknown 7", 30, 200, 30), ("the fourth of them", 30, 240, 20)],
    ]
    texts = {i: c for c, i in CLASSES.items()}
    batch = line_batch([printed(page) for page in lines], CLASSES)
    seen = []
    for cut in cut_lines(batch, CPU, strength=0.0, jitter=0.0):
        for image, width, label in zip(cut.images, cut.widths.tolist(), cut.labels, strict=True):
            text = "".join(texts[i] for i in label.tolist())
            own = next(line for page in lines for line in page if line[0] == text)
            expected = alone(printed([own]))
            assert expected.shape[1] == width
            assert float((image[0, :, :width].float() - expected).abs().mean()) < 0.01, text
            assert not image[0, :, width:].any()
            seen.append(text)
    assert sorted(seen) == ["first", "second line", "the fourth of them", "third"]


def test_lines_are_normalised_together_as_alone() -> None:
    torch.manual_seed(2)
    widths = torch.tensor([60, 96, 33, 80])
    images = torch.rand(4, HEIGHT_PX, 96) ** 3
    images[1] = 1 - images[1]
    images[2] = 0.4
    together = normalised_lines(images, widths)
    for image, width, found in zip(images, widths.tolist(), together, strict=True):
        alone_too = torch.from_numpy(normalised(image[:, :width].numpy()))
        torch.testing.assert_close(found[:, :width], alone_too, atol=1e-5, rtol=1e-5)
        assert not found[:, width:].any()


def test_jitter_keeps_the_letters_in_the_image() -> None:
    torch.manual_seed(1)
    places = torch.tensor([[100.0, 400.0, 200.0, 0.02, 30.0]]).repeat(500, 1)
    cuts = plan(places, 1.0)
    middle = cuts.top + cuts.step * HEIGHT_PX / 2 + cuts.tilt * (250 - cuts.left)
    assert abs(float(middle.mean()) - (203 - 0.25 * 30)) < 5
    assert (cuts.left < 100).all()
    assert (cuts.left + cuts.across * cuts.width >= 400).all()
    assert float(cuts.step.std()) > 0
