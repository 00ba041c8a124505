"""The decoder's thread: continuous reading, and what a fault costs."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.reader import PagedReader
from ocr.decoding.requests import PageRead
from ocr.decoding.sequence.page_reading import DecodeError
from ocr.types import Transcript
from pipeline.device.threads.decoder_thread import DecoderLoop
from pipeline.device.threads.handover import Handover
from pipeline.device.tickets import Ticket
from pipeline.errors import DeviceLostError, PipelineError
from pipeline.stages.decode import request_together
from pipeline.stages.localize import ReadPage
from pipeline.types import PageResult
from tests.ocr.tiny_reader import READ, ChainReader, RandomReader, tokenizer
from tests.pipeline.device.fakes import TEXT, FakeReader, Fault, LoadedReader, loaded_reader, ticket
from tests.pipeline.runs import WAIT_S, wait_until

PROMPT = "<image>\nRead"
NO_MEMORY = "[enforce fail] DefaultCPUAllocator: not enough memory"


def make_loop(
    incoming: Handover[Ticket],
    *,
    loaded: Any = None,
    paged: Any = None,
    slots: int = 4,
    free_memory: Callable[[], bool] = lambda: False,
    may_gather: Callable[[], bool] = lambda: False,
) -> DecoderLoop:
    return DecoderLoop(
        loaded or loaded_reader(),
        paged,
        prompt=PROMPT,
        slots=slots,
        kv_bytes=None,
        incoming=incoming,
        free_memory=free_memory,
        may_gather=may_gather,
    )


def filled(tickets: Sequence[Ticket]) -> Handover[Ticket]:
    incoming: Handover[Ticket] = Handover()
    for its in tickets:
        incoming.put(its, 1)
    incoming.finish()
    return incoming


def read_all(tickets: Sequence[Ticket], **options: Any) -> DecoderLoop:
    loop = make_loop(filled(tickets), **options)
    loop.run()
    return loop


def text(its: Ticket) -> str:
    outcome = its.outcome.result(0)
    assert isinstance(outcome, ReadPage), outcome
    assert outcome.rendered is its.rendered
    return outcome.transcript.raw


def failure(its: Ticket) -> tuple[str, str]:
    result = its.outcome.result(0)
    assert isinstance(result, PageResult)
    assert result.error is not None
    assert (result.status, result.error.stage, result.page) == ("failed", "decode", its.rendered.page)
    return result.error.category, result.error.message


class Engines:
    """Stands in for PagedReader.plain; remembers the slots of each that was made."""

    def __init__(self, tickets: Sequence[Ticket], fault: Fault) -> None:
        self.tickets, self.fault = tickets, fault
        self.slots: list[int] = []
        self.batches: list[list[int]] = []

    def __call__(self, loaded: object, *, prompt: str, num_slots: int, kv_bytes: int | None) -> FakeReader:
        assert prompt == PROMPT
        self.slots.append(num_slots)
        return FakeReader(self.tickets, num_slots, self.fault, self.batches)


def engines(monkeypatch: pytest.MonkeyPatch, tickets: Sequence[Ticket], fault: Fault) -> Engines:
    found = Engines(tickets, fault)
    monkeypatch.setattr(PagedReader, "plain", found)
    return found


def bad(*numbers: int, error: Exception) -> Fault:
    return lambda batch: error if set(numbers) & set(batch) else None


def test_every_page_is_read_and_tokens_are_counted() -> None:
    tickets = [ticket(number) for number in range(7)]
    loop = read_all(tickets, slots=3)
    assert [text(its) for its in tickets] == [TEXT] * 7
    reads = [its.outcome.result(0) for its in tickets]
    assert loop.num_tokens == 7 * 3
    for read in reads:
        assert isinstance(read, ReadPage)
        prefill, generate = read.timings
        assert 1 <= prefill.batch_size <= 7
        assert generate.wall_s >= generate.share_s > 0


def endless() -> Any:
    """A model that never ends a page by itself."""
    return LoadedReader(model=ChainReader({READ: 5, 5: 6, 6: 5}), tokenizer=tokenizer())


FREE = {"ngram_size": 0, "loop_tokens": 0}


def started(loop: DecoderLoop) -> threading.Thread:
    thread = threading.Thread(target=loop.run, daemon=True)
    thread.start()
    return thread


def test_pages_enter_while_others_are_read_and_an_abandoned_loop_ends() -> None:
    incoming: Handover[Ticket] = Handover()
    long, short = ticket(0, max_tokens=8000, **FREE), ticket(1, max_tokens=40, **FREE)
    loop = make_loop(incoming, loaded=endless(), slots=2)
    thread = started(loop)
    incoming.put(long, 1)
    wait_until(lambda: bool(loop._in_flight))
    time.sleep(0.1)
    incoming.put(short, 1)
    read = short.outcome.result(WAIT_S)
    assert isinstance(read, ReadPage)
    assert (read.transcript.finish, read.timings[0].batch_size) == ("length", 2)
    assert not long.outcome.done(), "the long page was under way before and after"
    loop.abandon()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert loop.num_tokens < 4000, "the long page was not read to its end"
    assert not long.outcome.done()


def test_an_idle_loop_ends_when_told_to_and_the_wait_is_counted() -> None:
    loop = make_loop(Handover())
    began = time.monotonic()
    thread = started(loop)
    wait_until(lambda: loop.meter.state == "input")
    waits = time.monotonic()
    time.sleep(0.2)
    waited_s = time.monotonic() - waits
    assert thread.is_alive()
    loop.abandon()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    whole_s = time.monotonic() - began
    use = loop.meter.use("decode", 1.0)
    assert use.waiting_input >= waited_s
    assert use.busy + use.waiting_input <= whole_s, "what is waited for is no work"


def test_pages_are_gathered_while_that_is_worth_it_but_for_the_first() -> None:
    incoming: Handover[Ticket] = Handover()
    worth_it = True
    loop = make_loop(incoming, slots=2, may_gather=lambda: worth_it)
    thread = started(loop)
    tickets = [ticket(number) for number in range(4)]
    incoming.put(tickets[0], 1)
    assert isinstance(tickets[0].outcome.result(WAIT_S), ReadPage)
    incoming.put(tickets[1], 1)
    time.sleep(0.3)
    assert not tickets[1].outcome.done(), "there is a second slot"
    incoming.put(tickets[2], 1)
    assert [text(its) for its in tickets[1:3] if its.outcome.result(WAIT_S)] == [TEXT] * 2
    incoming.put(tickets[3], 1)
    time.sleep(0.2)
    assert not tickets[3].outcome.done()
    worth_it = False
    assert isinstance(tickets[3].outcome.result(WAIT_S), ReadPage)
    incoming.finish()
    thread.join(WAIT_S)
    assert not thread.is_alive()


def test_an_engine_that_ends_too_early_loses_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    tickets, plain = [ticket(number) for number in range(3)], PagedReader.plain

    class EndsEarly:
        def __init__(self, loaded: Any, *, prompt: str, num_slots: int, kv_bytes: int | None) -> None:
            self._engine = plain(loaded, prompt=prompt, num_slots=num_slots, kv_bytes=kv_bytes)
            self._loses = num_slots > 1

        def read(self, requests: Any, check: Any = None) -> Any:
            reads = list(self._engine.read(requests, check))
            yield from reads[1:] if self._loses else reads

    monkeypatch.setattr(PagedReader, "plain", EndsEarly)
    read_all(tickets, slots=3)
    assert [text(its) for its in tickets] == [TEXT] * 3


def test_an_idle_loop_ends_with_its_queue() -> None:
    incoming: Handover[Ticket] = Handover()
    thread = started(make_loop(incoming))
    time.sleep(0.05)
    incoming.finish()
    thread.join(WAIT_S)
    assert not thread.is_alive()


def test_a_page_that_nobody_waits_for_any_more_is_no_error() -> None:
    tickets = [ticket(0), ticket(1)]
    tickets[0].outcome.cancel()
    read_all(tickets)
    assert text(tickets[1]) == TEXT


@pytest.mark.slow
def test_a_page_whose_logits_are_no_numbers_fails_alone() -> None:
    """The real engine and text model: what one row computes does not reach the others."""
    loaded = LoadedReader(model=RandomReader(), tokenizer=tokenizer())
    expected = [ticket(number, max_tokens=60, **FREE) for number in range(5)]
    read_all(expected, loaded=loaded, slots=1)
    found = [ticket(number, max_tokens=60, **FREE) for number in range(5)]
    damaged = found[2]
    assert damaged.request is not None
    tokens = damaged.request.vision
    damaged.request = replace(
        damaged.request, vision=replace(tokens, tokens_TD=torch.full_like(tokens.tokens_TD, torch.nan))
    )
    read_all(found, loaded=loaded, slots=4)
    category, message = failure(damaged)
    assert category == "internal"
    assert "logits are not numbers" in message
    others = (0, 1, 3, 4)
    assert [text(found[number]) for number in others] == [text(expected[number]) for number in others]
    assert len({text(its) for its in expected}) > 1


def test_a_fault_costs_its_page_only_and_its_timings_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = [ticket(number) for number in range(6)]
    made = engines(monkeypatch, tickets, bad(1, error=RuntimeError("a bug")))
    read_all(tickets, slots=3)
    assert failure(tickets[1]) == ("internal", "RuntimeError: a bug")
    assert [text(tickets[number]) for number in (0, 2, 3, 4, 5)] == [TEXT] * 5
    assert made.batches == [[0, 1, 2], [0], [1], [2], [3, 4, 5]]


@pytest.mark.slow
def test_without_memory_graphs_are_freed_then_slots_halved(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tickets = [ticket(number) for number in range(16)]

    def too_many(batch: Sequence[int]) -> Exception | None:
        return RuntimeError(NO_MEMORY) if len(batch) > 2 else None

    made = engines(monkeypatch, tickets, too_many)
    held = [True]
    with caplog.at_level(logging.WARNING, logger="ocrbatch"):
        loop = read_all(tickets, slots=8, free_memory=lambda: bool(held and held.pop()))
    assert made.slots == [8, 8, 4, 2], "the same again without graphs"
    assert [text(its) for its in tickets] == [TEXT] * 16
    assert made.batches[:4] == [list(range(8)), list(range(8)), [0, 1, 2, 3], [0, 1]], "order is kept"
    assert "not enough memory for 8 pages at once; going on with 4" in caplog.text
    assert "for 4 pages at once; going on with 2" in caplog.text
    assert loop.num_tokens == 16 * 3


@pytest.mark.slow
def test_a_page_that_does_not_fit_alone_fails_for_want_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = [ticket(number) for number in range(4)]
    made = engines(monkeypatch, tickets, bad(2, error=MemoryError()))
    read_all(tickets, slots=4)
    assert failure(tickets[2])[0] == "out_of_memory"
    assert [text(tickets[number]) for number in (0, 1, 3)] == [TEXT] * 3
    assert made.slots[:3] == [4, 2, 1]


def test_a_paged_engine_that_fails_is_replaced_and_its_pages_are_read_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tickets = [ticket(number) for number in range(6)]
    paged = FakeReader(tickets, 2, bad(2, error=RuntimeError("a kernel broke")))
    made = engines(monkeypatch, tickets, lambda batch: None)
    with caplog.at_level(logging.WARNING, logger="ocrbatch"):
        loop = read_all(tickets, paged=paged, slots=4)
    assert [text(its) for its in tickets] == [TEXT] * 6
    assert paged.batches == [[0, 1], [2, 3]]
    assert made.batches == [[2, 3, 4, 5]]
    assert paged.num_closed == 1
    assert "paged engine failed: RuntimeError: a kernel broke; going on without it" in caplog.text
    assert loop.num_tokens == 6 * 3, "no page counts twice"


def test_a_page_that_breaks_by_its_data_does_not_cost_the_paged_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tickets = [ticket(number) for number in range(4)]
    error = DecodeError("the logits are not numbers")
    paged = FakeReader(tickets, 2, bad(1, error=error))
    made = engines(monkeypatch, tickets, bad(1, error=error))
    read_all(tickets, paged=paged)
    assert failure(tickets[1])[1] == "DecodeError: the logits are not numbers"
    assert [text(tickets[number]) for number in (0, 2, 3)] == [TEXT] * 3
    assert paged.batches == [[0, 1], [2, 3]]
    assert made.batches == [[0], [1]]
    assert paged.num_closed == 0


def test_a_paged_engine_that_is_not_ready_is_left_alone() -> None:
    tickets = [ticket(0)]
    paged = FakeReader(tickets, 2, is_ready=False)
    read_all(tickets, paged=paged)
    assert text(tickets[0]) == TEXT
    assert paged.batches == []


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (PipelineError("it cannot go on"), PipelineError),
        (RuntimeError("CUDA error: unspecified launch failure"), DeviceLostError),
    ],
)
def test_what_ends_the_run_ends_it(
    error: Exception, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    tickets = [ticket(number) for number in range(4)]
    engines(monkeypatch, tickets, bad(2, error=error))
    loop = make_loop(filled(tickets), slots=2)
    with pytest.raises(kind):
        loop.run()
    assert [text(its) for its in tickets[:2]] == [TEXT] * 2
    assert not tickets[2].outcome.done()
    assert loop.on_device == tickets[2:]


def test_an_engine_that_fails_before_it_reads_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("no such prompt")

    monkeypatch.setattr(PagedReader, "plain", broken)
    with pytest.raises(PipelineError, match="cannot read: ValueError: no such prompt"):
        read_all([ticket(0)])


def test_a_loop_that_is_abandoned_while_pages_are_tried_alone_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = [ticket(number) for number in range(4)]
    loop: list[DecoderLoop] = []

    def fault(batch: Sequence[int]) -> Exception | None:
        if len(batch) == 1:
            loop[0].abandon()
            return None
        return RuntimeError("a bug")

    engines(monkeypatch, tickets, fault)
    loop.append(make_loop(filled(tickets), slots=4))
    loop[0].run()
    assert text(tickets[0]) == TEXT
    assert not any(its.outcome.done() for its in tickets[1:])


@pytest.mark.slow
def test_the_real_engine_takes_part_in_all_this(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that runs out in the middle of pages: those that are finished stay so, the others begin again."""
    tickets = [ticket(number) for number in range(8)]
    real, sizes = DeviceSteps.step, []

    def step(self: DeviceSteps, rows: int) -> Any:
        sizes.append(rows)
        if rows > 2:
            raise RuntimeError(NO_MEMORY)
        return real(self, rows)

    monkeypatch.setattr(DeviceSteps, "step", step)
    loop = read_all(tickets, slots=8)
    assert [text(its) for its in tickets] == [TEXT] * 8
    assert sizes[:3] == [8, 4, 2]
    assert loop.num_tokens == 8 * 3


class Answers:
    """A paged engine that answers each request with the next of these texts, a token a word; None fails."""

    def __init__(self, *answers: str | None) -> None:
        self.answers, self.asked = list(answers), list[int]()

    def ready(self) -> bool:
        return True

    def close(self) -> None: ...

    def read(self, requests: Any, check: Callable[[], None] | None = None) -> Any:
        for index, request in enumerate(its for its in requests if its is not None):
            self.asked.append(len(request.items))
            if (raw := self.answers.pop(0)) is None:
                raise DecodeError("logits are not numbers")
            ids = tuple(tokenizer().encode(raw).ids)
            found = Transcript(raw=raw, token_ids=ids, finish="eos", logprobs=(-0.1,) * len(ids))
            yield PageRead(index=index, transcript=found, prefill_s=0.5, generate_s=1.0)


def lot_of(*numbers: int) -> tuple[Ticket, list[Ticket]]:
    """A ticket for pages with one prompt, and theirs."""
    members = [ticket(number) for number in numbers]
    requests = [its.request for its in members if its.request is not None]
    request = request_together(requests, "<image>\nRead them")
    return Ticket(rendered=members[0].rendered, request=request, members=tuple(members)), members


def test_an_answer_about_several_pages_is_shared_out_to_them() -> None:
    lot, members = lot_of(0, 1)
    alone = ticket(2)
    engine = Answers("<PAGE> w5 w6 <PAGE> w7", "w8")
    loop = read_all([lot, alone], paged=engine)
    assert [text(its) for its in (*members, alone)] == ["w5 w6", "w7", "w8"]
    assert engine.asked == [2, 1]
    assert not loop.on_device
    shares = [its.outcome.result(0).timings[-1].share_s for its in (*members, alone)]
    assert shares == [0.5, 0.5, 1.0]


def test_pages_whose_answer_cannot_be_told_apart_are_read_one_by_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "ocrbatch")
    lot, members = lot_of(4, 5)
    engine = Answers("w5 w6", "w7", "w8", "w5 <PAGE> w6")
    read_all([lot, lot_of(0, 1)[0]], paged=engine)
    assert [text(its) for its in members] == ["w7", "w8"]
    assert engine.asked == [2, 1, 1, 2]
    assert "1 of 2 prompts with several pages had no answer for each" in caplog.text
    assert (
        "a.png, pages 5 to 6: what was written of them cannot be told apart; each is read by itself"
        in caplog.text
    )


def test_of_several_pages_in_one_prompt_only_the_one_that_cannot_be_read_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lot, members = lot_of(0, 1)
    engine = Answers(None, None, None, "w8", None, None)
    monkeypatch.setattr(DecoderLoop, "_engine", lambda self, *, alone: engine)
    read_all([lot])
    assert engine.asked == [2, 2, 1, 1, 1, 1]
    assert text(members[0]) == "w8"
    failed = members[1].outcome.result(0)
    assert isinstance(failed, PageResult)
    assert failed.error is not None
    assert failed.error.category == "internal"


def test_a_lost_device_is_blamed_on_each_of_the_pages_in_one_prompt() -> None:
    lot, members = lot_of(0, 1)
    incoming = filled([lot])
    loop = make_loop(
        incoming, paged=FakeReader([lot], 4, fault=lambda numbers: RuntimeError("CUDA error: x"))
    )
    with pytest.raises(DeviceLostError):
        loop.run()
    assert loop.on_device == members
