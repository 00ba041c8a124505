"""The requests that `ocrbatch bench encoder` measures."""

from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest

from ocr.families.view_makers import WholePage
from pipeline.bench.encoding.encoder_bench import BenchSettings, requests_for
from pipeline.bench.encoding.requests import (
    EncoderRequest,
    grouped,
    page_requests,
    parse_buckets,
    parse_budgets,
    random_requests,
    serve,
)
from pipeline.bench.encoding.subjects import deepseek_subject
from pipeline.errors import ConfigError
from tests.ocr.tiny import tiny_model
from tests.pipeline.device.fakes import rendered


def test_buckets_are_sizes_with_probabilities() -> None:
    assert parse_buckets("{(224, 224): 1.0}") == {(224, 224): 1.0}
    assert parse_buckets("{(224,448): 1, (1024, 640): 3}") == {(224, 448): 1.0, (1024, 640): 3.0}


@pytest.mark.parametrize(
    "text", ["", "{}", "224", "{224: 1.0}", "{(0, 10): 1.0}", "{(10, 10): 0}", "__import__('os').getcwd()"]
)
def test_what_is_no_bucket_is_refused_unevaluated(text: str) -> None:
    with pytest.raises(ConfigError, match="--buckets"):
        parse_buckets(text)


def test_budgets_are_those_of_a_run() -> None:
    for word in ("default", "auto", "fitted"):
        assert parse_budgets(word) == word
    assert parse_budgets("{global: [256, 512]}") == {"global": [256, 512]}
    with pytest.raises(ConfigError, match="no path globl; write one of global, local"):
        parse_budgets("{globl: [256]}")


def test_random_images_have_the_sizes_asked_for_and_are_the_same_again() -> None:
    buckets = {(224, 224): 0.5, (700, 1300): 0.5}
    requests = random_requests(buckets, 12, seed=3, max_tiles=6)
    grids = [request.items[0].grid for request in requests]
    assert set(grids) == {(1, 1), (2, 1)}
    assert grids == [request.items[0].grid for request in random_requests(buckets, 12, seed=3, max_tiles=6)]
    assert all(set(request.seconds) == {"tile"} for request in requests)


def test_pages_come_from_documents(tmp_path: Path) -> None:
    document = pymupdf.open()
    for text in ("one", "", "three"):
        document.new_page().insert_text((72, 72), text, fontsize=20)
    document.save(tmp_path / "a.pdf")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.7 broken")
    assert len(page_requests(str(tmp_path), 10, max_tiles=6)) == 2, "the empty page shows nothing"
    first = page_requests(str(tmp_path), 1, max_tiles=6)[0]
    assert first.items[0].grid == (2, 3)
    assert set(first.seconds) == {"render", "tile"}
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="--pages"):
        page_requests(str(tmp_path / "empty"), 1, max_tiles=6)


def test_requests_have_as_many_items_as_the_range_says_the_same_again() -> None:
    settings = BenchSettings(buckets={(64, 64): 1.0}, num_prompts=40, items_per_request=(1, 3))
    subject = replace(deepseek_subject(tiny_model()), view_maker=WholePage(most_px=10**6))
    counts = [len(request.items) for request in requests_for(settings, subject)]
    assert set(counts) == {1, 2, 3}
    assert len(counts) == 40
    assert counts == [len(request.items) for request in requests_for(settings, subject)]


def test_a_requests_items_follow_each_other_and_their_times_add_up() -> None:
    views = [rendered(number).views for number in range(5)]
    singles = [EncoderRequest(items=(its,), seconds={"tile": number}) for number, its in enumerate(views)]
    found = grouped(singles, [2, 1, 4, 3])
    assert [len(request.items) for request in found] == [2, 1, 2], "there are no more than five"
    assert [id(item) for request in found for item in request.items] == [*map(id, views)]
    assert [request.seconds["tile"] for request in found] == [1, 2, 7]


def test_a_batch_is_of_what_has_arrived_while_the_one_before_was_encoded() -> None:
    """Each takes 1 s, and the clock is moved on where nothing has arrived."""
    arrivals = [0.5, 0.75, 1.0, 1.25, 5.0, 5.5]
    batches: list[slice] = []

    def encode(some: slice) -> float:
        batches.append(some)
        return 1.0

    found = list(serve(arrivals, 2, encode))
    assert batches == [slice(0, 1), slice(1, 3), slice(3, 4), slice(4, 5), slice(5, 6)]
    assert [some for some, _, _ in found] == batches
    assert [seconds for _, seconds, _ in found] == [1.0] * 5
    waits = [wait for _, _, its in found for wait in its]
    assert waits == [0.0, 0.75, 0.5, 1.25, 0.0, 0.5]
