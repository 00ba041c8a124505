"""Pages at their own size through document models' encoders, compared with transformers' processors and models."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from encoders.graphs.capturing.buffers import input_rows
from encoders.graphs.capturing.capture import Capture
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.native.native_encoder import NativeEncoder
from encoders.native.patch_path import AXIS, PatchPath
from encoders.types import VisionTokens
from encoders.views import PageViews, UInt8Array
from tests.encoders.graphs.eager_capture import Winning
from tests.encoders.native.test_patch_path import written
from tests.encoders.native.test_sequence_attention import NoHostReads
from tests.encoders.native.tiny_native import FAMILIES, draw, reference, sharpen, tiny_model, vision_of

CPU = torch.device("cpu")
# Tokens high and wide. Hunyuan's class refuses images one token thick, and none is in documents.
SIZES = [(2, 9), (8, 2), (3, 3), (4, 3), (5, 7), (7, 10), (11, 4)]


def page_of(image: UInt8Array) -> PageViews:
    return PageViews(global_view=image)


class Through:
    """A model's encoder with a manager; graphs of 16 and 64 tokens always win."""

    def __init__(self, family: str, model: object, capture: Capture | None) -> None:
        self.encoder = NativeEncoder(vision_of(family, model), least_tokens=4)
        settings = GraphSettings(budgets={"image": [16, 64]}, max_items=8, repeats=1)
        self.manager = EncoderGraphManager(self.encoder.paths, settings, CPU, capture)
        self.manager.warm_up(dict(self.encoder.usual_axes))

    def encode(self, images: Sequence[UInt8Array]) -> tuple[list[VisionTokens], list[str]]:
        pages = [page_of(image) for image in images]
        outputs, uses = self.encoder.encode(self.manager, "image", pages)
        return self.encoder.assemble(pages, {"image": outputs}), [use for page in uses for use in page]


def assert_equal(found: Sequence[VisionTokens], expected: Sequence[Tensor]) -> None:
    for tokens, its in zip(found, expected, strict=True):
        assert tokens.tokens_TD.shape == its.shape
        torch.testing.assert_close(tokens.tokens_TD, its, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_pages_of_all_shapes_in_one_batch(family: str) -> None:
    model = tiny_model(family)
    images = [draw(*size) for size in SIZES]
    expected = reference(family, model, images)
    through = Through(family, model, None)
    found, uses = through.encode(images)
    assert_equal(found, expected)
    assert set(uses) == {"eager"}
    for image, its in zip(images, expected, strict=True):
        assert_equal(through.encode([image])[0], [its])
    for (high, wide), tokens in zip(SIZES, found, strict=True):
        assert len(tokens.tokens_TD) == high * wide + FAMILIES[family].extra(high, wide)
        assert tokens.note.num_tokens == high * wide  # type: ignore[attr-defined]
    assert 0.1 < torch.cat(expected).std() < 5
    assert (expected[4][:35] - expected[5][:35]).norm() > 0.5 * expected[4].norm(), (
        "images must not look alike"
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_replays_equal_transformers_whatever_ran_before(family: str) -> None:
    """Larger and smaller batches in turn: what one leaves in the buffers must not reach the next."""
    model = tiny_model(family)
    through = Through(family, model, Winning())
    rounds = [[(5, 7), (2, 3)], [(2, 2)], [(3, 3), (4, 4), (2, 2), (2, 6)], [(8, 8)], [(2, 5), (2, 3)]]
    for number, sizes in enumerate(rounds):
        images = [draw(*size, seed=number) for size in sizes]
        found, uses = through.encode(images)
        assert set(uses) == {"hit"}
        assert_equal(found, reference(family, model, images))
    stats = through.manager.stats()["image"]
    assert (stats.nan_traps, stats.parity_failures, stats.stale_graphs) == (0, 0, 0)
    assert stats.padding_tokens > 0
    large = [draw(9, 9), draw(2, 2)]
    found, uses = through.encode(large)
    assert uses == ["miss", "hit"]
    assert_equal(found, reference(family, model, large))


@pytest.mark.parametrize("family", FAMILIES)
def test_padding_may_hold_anything(family: str) -> None:
    """Poison in every input behind the units, and the same tokens to the bit."""
    model = tiny_model(family)
    path = PatchPath("image", vision_of(family, model), least_tokens=4)
    units = [path.unit(torch.from_numpy(draw(*size))[None]) for size in ((3, 2), (2, 2))]
    clean, dirty = written(path, units), written(path, units)
    rows = input_rows(path, units)
    for name, buffer in dirty.items():
        if name == "tap_weights":
            buffer[rows[name] :] = torch.nan
        elif not name.startswith("cu_"):
            buffer[rows[name] :] = 250 if name == "runs" else 5
    first, second = (path.forward(inputs)["tokens"][:10] for inputs in (clean, dirty))
    assert torch.equal(first, second)
    assert first.isfinite().all()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_host_looks_at_no_value(family: str) -> None:
    """What a capture would refuse; in eager batches as well as in padded ones."""
    vision = vision_of(family, tiny_model(family))
    path = PatchPath("image", vision)
    inputs = path.collate([path.unit(torch.from_numpy(draw(*size))[None]) for size in ((3, 4), (5, 2))], CPU)
    padded = path.buffers(AXIS, 64, CPU)
    with NoHostReads(), torch.inference_mode():
        vision.encode(inputs)
        nothing = vision.encode(padded)
    assert nothing.isfinite().all()


@pytest.mark.parametrize("family", FAMILIES)
def test_changed_weights_are_noticed(family: str) -> None:
    model = tiny_model(family)
    through = Through(family, model, Winning())
    image = draw(3, 4)
    before, _ = through.encode([image])
    sharpen(model, seed=7)
    after, _ = through.encode([image])
    assert_equal(after, reference(family, model, [image]))
    assert not torch.allclose(before[0].tokens_TD, after[0].tokens_TD, atol=0.1)
    assert through.manager.stats()["image"].recaptures == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_the_encoders_alone(family: str) -> None:
    model = tiny_model(family)
    encoder = NativeEncoder(vision_of(family, model))
    language = {weight.data_ptr() for weight in model.language_model.parameters()}
    watched = encoder.paths[0].watched(AXIS)
    assert not language & {weight.data_ptr() for weight in watched}
    own = {
        name: weight for name, weight in model.named_parameters() if not name.startswith("language_model.")
    }
    assert {weight.data_ptr() for weight in own.values()} <= {weight.data_ptr() for weight in watched}
    assert encoder.num_bytes >= sum(weight.nbytes for weight in own.values())
    assert (encoder.device, vision_of(family, model).width) == (CPU, 24)


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_of_16_bits(family: str) -> None:
    """Rounded as transformers rounds, or less."""
    images = [draw(5, 7), draw(4, 4)]
    exact = torch.cat(reference(family, tiny_model(family), images))
    model = tiny_model(family).to(torch.bfloat16)
    expected = torch.cat(reference(family, model, images)).float()
    found, _ = Through(family, model, None).encode(images)
    ours = torch.cat([tokens.tokens_TD for tokens in found])
    assert ours.dtype == torch.bfloat16
    assert (ours.float() - exact).norm() < 1.2 * (expected - exact).norm()
