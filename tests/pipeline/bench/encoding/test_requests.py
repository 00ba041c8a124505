"""The requests that `ocrbatch bench encoder` measures."""

from pathlib import Path

import pymupdf
import pytest

from pipeline.bench.encoding.requests import page_requests, parse_buckets, parse_budgets, random_requests
from pipeline.errors import ConfigError


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
    grids = [request.views.grid for request in requests]
    assert set(grids) == {(1, 1), (2, 1)}
    assert grids == [request.views.grid for request in random_requests(buckets, 12, seed=3, max_tiles=6)]
    assert all(set(request.seconds) == {"tile"} for request in requests)


def test_pages_come_from_documents(tmp_path: Path) -> None:
    document = pymupdf.open()
    for text in ("one", "", "three"):
        document.new_page().insert_text((72, 72), text, fontsize=20)
    document.save(tmp_path / "a.pdf")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.7 broken")
    assert len(page_requests(str(tmp_path), 10, max_tiles=6)) == 2, "the empty page shows nothing"
    first = page_requests(str(tmp_path), 1, max_tiles=6)[0]
    assert first.views.grid == (2, 3)
    assert set(first.seconds) == {"render", "tile"}
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="--pages"):
        page_requests(str(tmp_path / "empty"), 1, max_tiles=6)
