"""A worker's side of the channel: what it sends, and how often."""

from typing import Any

import pytest

from ocr.types import ParsedText, Word
from pipeline.cluster import worker_channel
from pipeline.cluster.request_handler import RequestHandler
from pipeline.cluster.worker_channel import RemoteProgress, RemoteRecords, WorkerChannel
from pipeline.cluster.worker_messages import Asked
from pipeline.stages.store import page_record, store_page
from pipeline.types import Page, PageResult
from storage.words import packed_for, unpack


def result(*words: Word) -> PageResult:
    text = " ".join(word.text for word in words) or "none"
    parsed = ParsedText(text=text, markdown=text, words=words)
    page = Page(path="/a.pdf", sha256="a" * 64, kind="pdf", page_index=0)
    return PageResult(page=page, status="ok", parsed=parsed, error=None)


def test_words_are_sent_as_the_database_keeps_them() -> None:
    sent: list[Any] = []
    read = result(Word(text="one", box_px=(1, 2, 30, 40), confidence=0.5), Word(text="two"))
    RemoteRecords(WorkerChannel(sent.append)).call(store_page, 1, "s", read, attempt_limit=3)
    (asked,) = sent
    assert isinstance(asked, Asked)
    assert asked.ask is RequestHandler.call
    arrived = asked.args[3]
    assert arrived.parsed.words == ()
    stored, here = page_record(arrived, "s"), page_record(read, "s")
    packed = stored.packed_words
    assert packed is not None
    assert packed == packed_for(here.text or "", here.words)
    words = [tuple(word.values()) for word in unpack(packed, here.text or "")]
    assert words == [(word.text, word.box_px, word.confidence) for word in here.words]


def test_pages_without_places_of_words_and_other_values_are_sent_as_they_are() -> None:
    sent: list[Any] = []
    RemoteRecords(WorkerChannel(sent.append)).call(store_page, 1, "s", result())
    assert sent[0].args == (store_page, 1, "s", result())


def test_a_new_phase_is_told_at_once_and_tokens_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    progress = RemoteProgress(WorkerChannel(lambda asked: told.append(asked.args)))
    for tokens in range(100):
        progress.at_work("reading", tokens)
    progress.at_work("loading the model", 100)
    monkeypatch.setattr(worker_channel, "_REPORT_S", 0.0)
    progress.at_work("loading the model", 100)
    progress.at_work("loading the model", 101)
    assert told == [("reading", 0), ("loading the model", 100), ("loading the model", 101)]
