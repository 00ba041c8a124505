"""The encoder's thread: which batches it makes, and what a fault costs."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from pipeline.config.schema import DecodeConfig
from pipeline.device.threads import encoder_thread
from pipeline.device.threads.encoder_thread import EncoderLoop
from pipeline.device.threads.handover import Handover
from pipeline.device.tickets import Lot, Ticket
from pipeline.errors import DeviceLostError, PipelineError
from pipeline.types import Kind, PageResult
from tests.pipeline.device.fakes import FakeEncoder, rendered, tokens
from tests.pipeline.runs import WAIT_S, wait_until

OUT_OF_MEMORY = "CUDA out of memory. Tried to allocate 2 GiB"


class Encoding:
    """A loop over fakes, and its queues."""

    def __init__(
        self,
        encoder: FakeEncoder,
        most: int,
        *,
        out_bytes: int | None = None,
        prompt_for: Callable[[int], str] | None = None,
    ) -> None:
        self.encoder = encoder
        self.incoming: Handover[Ticket] = Handover()
        self.outgoing: Handover[Ticket] = Handover(out_bytes)
        loop_encoder: Any = encoder
        self.loop = EncoderLoop(
            loop_encoder,
            DecodeConfig(),
            incoming=self.incoming,
            outgoing=self.outgoing,
            most=most,
            prompt_for=prompt_for,
        )

    def put(self, *numbers: int) -> list[Ticket]:
        tickets = [Ticket(rendered=rendered(number)) for number in numbers]
        for ticket in tickets:
            self.incoming.put(ticket, ticket.rendered.num_bytes)
        return tickets

    def run(self, *numbers: int) -> list[Ticket]:
        """Encodes them all."""
        tickets = self.put(*numbers)
        self.incoming.finish()
        self.loop.run()
        return tickets

    def handed_on(self) -> list[int]:
        return [ticket.rendered.page.page_index for ticket in self.outgoing.take(100, timeout_s=0)]

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self.loop.run, daemon=True)
        thread.start()
        return thread

    def end(self, thread: threading.Thread) -> None:
        self.incoming.finish()
        self.outgoing.finish()
        thread.join(WAIT_S)
        assert not thread.is_alive()


def failure(ticket: Ticket) -> tuple[str, str, str]:
    result = ticket.outcome.result(0)
    assert isinstance(result, PageResult)
    assert result.error is not None
    assert result.page == ticket.rendered.page
    return result.status, result.error.stage, result.error.category


def bad(*numbers: int, message: str = "a bug") -> Callable[[list[int]], Exception | None]:
    """A fault of any batch with one of these pages."""
    return lambda batch: RuntimeError(message) if set(numbers) & set(batch) else None


def test_pages_are_handed_on_in_order_ready_to_be_read() -> None:
    flow = Encoding(FakeEncoder(), 2)
    tickets = flow.run(0, 1, 2, 3, 4)
    assert flow.encoder.batches == [[0, 1], [2, 3], [4]]
    assert flow.encoder.num_begun == 3
    assert flow.handed_on() == [0, 1, 2, 3, 4]
    for number, ticket in enumerate(tickets):
        assert ticket.request is not None
        assert torch.equal(ticket.request.vision.tokens_TD, tokens(seed=number).tokens_TD)
        assert {timing.stage for timing in ticket.timings} == {"render", "encode_global", "encode_local"}
        assert not ticket.outcome.done()


def test_a_full_batch_is_waited_for_only_while_the_decoder_has_another() -> None:
    flow = Encoding(FakeEncoder(), 3)
    for ticket in (Ticket(rendered=rendered(9)) for _ in range(3)):
        flow.outgoing.put(ticket, 1)
    thread = flow.start()
    flow.put(0, 1)
    time.sleep(0.2)
    assert flow.encoder.batches == [], "the decoder has a batch to go on with"
    flow.put(2)
    wait_until(lambda: flow.encoder.batches == [[0, 1, 2]])
    flow.put(3)
    time.sleep(0.1)
    assert len(flow.encoder.batches) == 1
    flow.outgoing.take(4)
    wait_until(lambda: flow.encoder.batches[1:] == [[3]])
    flow.end(thread)


def test_pages_that_wait_for_a_full_batch_at_the_end_are_encoded() -> None:
    flow = Encoding(FakeEncoder(), 3)
    for _ in range(3):
        flow.outgoing.put(Ticket(rendered=rendered(9)), 1)
    thread = flow.start()
    flow.put(0, 1)
    time.sleep(0.05)
    flow.end(thread)
    assert flow.encoder.batches == [[0, 1]]


@pytest.mark.slow
def test_one_bad_page_costs_itself_only() -> None:
    flow = Encoding(FakeEncoder(fault=bad(3)), 6)
    tickets = flow.run(*range(6))
    assert flow.handed_on() == [0, 1, 2, 4, 5]
    assert failure(tickets[3]) == ("failed", "encode", "internal")
    result = tickets[3].outcome.result(0)
    assert isinstance(result, PageResult)
    assert [(timing.stage, timing.share_s) for timing in result.timings] == [("render", 0.5)]
    assert [len(batch) for batch in flow.encoder.batches] == [6, 3, 3, 1, 2]


@pytest.mark.slow
def test_a_bug_does_not_make_batches_smaller() -> None:
    flow = Encoding(FakeEncoder(fault=bad(0)), 2)
    flow.run(0, 1, 2, 3)
    assert flow.encoder.batches == [[0, 1], [0], [1], [2, 3]]


@pytest.mark.slow
def test_without_memory_graphs_are_freed_and_then_batches_are_halved() -> None:
    def too_many(batch: list[int]) -> Exception | None:
        return RuntimeError(OUT_OF_MEMORY) if len(batch) > 2 else None

    flow = Encoding(FakeEncoder(fault=too_many, graphs=1), 4)
    flow.run(*range(8))
    assert flow.encoder.batches[:2] == [[0, 1, 2, 3]] * 2, "the same again without graphs"
    assert [len(batch) for batch in flow.encoder.batches[2:]] == [2, 2, 2, 2]
    assert flow.handed_on() == list(range(8))


@pytest.mark.slow
def test_a_page_that_is_too_large_alone_fails_for_want_of_memory() -> None:
    flow = Encoding(FakeEncoder(fault=bad(1, message=OUT_OF_MEMORY)), 2)
    tickets = flow.run(0, 1, 2)
    assert failure(tickets[1]) == ("failed", "encode", "out_of_memory")
    assert flow.handed_on() == [0, 2]


def test_views_are_not_kept_once_they_are_encoded() -> None:
    flow = Encoding(FakeEncoder(), 1)
    dropped: list[int] = []
    (ticket,) = flow.put(0)
    ticket.dropped = dropped.append
    flow.run()
    assert dropped == [3 * 8 * 8]
    assert ticket.rendered.num_bytes == 0
    assert (ticket.rendered.width_px, ticket.rendered.page) == (8, rendered(0).page)


@pytest.mark.slow
def test_a_page_without_a_request_costs_itself_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a batch of which others have lost their views already."""
    real = encoder_thread.page_settings

    def breaks(config: DecodeConfig, kind: Kind, step: Any) -> Any:
        if step == "broken":
            raise RuntimeError("a bug")
        return real(config, kind, step)

    monkeypatch.setattr(encoder_thread, "page_settings", breaks)
    flow = Encoding(FakeEncoder(), 4)
    tickets = flow.put(0, 1, 2, 3)
    broken: Any = "broken"
    tickets[2].step = broken
    flow.run()
    assert failure(tickets[2]) == ("failed", "encode", "internal")
    assert flow.handed_on() == [0, 1, 3]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (PipelineError("the weights are gone"), PipelineError),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), DeviceLostError),
    ],
)
def test_what_ends_the_run_ends_it(error: Exception, kind: type[Exception]) -> None:
    flow = Encoding(FakeEncoder(fault=lambda batch: error), 2)
    with pytest.raises(kind):
        flow.run(0, 1, 2)
    assert flow.encoder.batches == [[0, 1]]
    assert flow.handed_on() == []
    assert [ticket.rendered.page.page_index for ticket in flow.loop.on_device] == [0, 1]


def test_only_the_half_that_ends_the_run_was_on_the_device() -> None:
    def fault(batch: list[int]) -> Exception:
        return RuntimeError(
            "a bug" if len(batch) > 2 else "CUDA error: an illegal memory access was encountered"
        )

    flow = Encoding(FakeEncoder(fault=fault), 4)
    with pytest.raises(DeviceLostError):
        flow.run(0, 1, 2, 3)
    assert [ticket.rendered.page.page_index for ticket in flow.loop.on_device] == [0, 1]


def test_what_is_handed_on_is_no_longer_on_the_device() -> None:
    flow = Encoding(FakeEncoder(), 2)
    flow.run(0, 1)
    assert flow.loop.on_device == []


def test_a_full_queue_holds_the_encoder_up_and_the_time_is_counted() -> None:
    one_page_bytes = 4 * 64 * 4
    flow = Encoding(FakeEncoder(), 1, out_bytes=one_page_bytes)
    began = time.monotonic()
    thread = flow.start()
    flow.put(0, 1, 2)
    wait_until(lambda: len(flow.encoder.batches) == 2 and flow.loop.meter.state == "output")
    waits = time.monotonic()
    time.sleep(0.2)
    waited_s = time.monotonic() - waits
    assert len(flow.encoder.batches) == 2, "the second page waits for room"
    assert len(flow.outgoing) == 1
    found = [flow.outgoing.take(1)[0].rendered.page.page_index for _ in range(3)]
    assert found == [0, 1, 2]
    flow.end(thread)
    whole_s = time.monotonic() - began
    use = flow.loop.meter.use("encode", 1.0)
    assert use.waiting_output >= waited_s
    assert use.busy + use.waiting_output <= whole_s, "what is waited for is no work"


def test_graphs_are_not_freed_under_a_batch() -> None:
    entered, go_on = threading.Event(), threading.Event()

    def slow(batch: Sequence[int]) -> None:
        entered.set()
        assert go_on.wait(WAIT_S)

    flow = Encoding(FakeEncoder(fault=slow, graphs=1), 1)
    thread = flow.start()
    flow.put(0)
    assert entered.wait(WAIT_S)
    freed: list[bool] = []
    freeing = threading.Thread(target=lambda: freed.append(flow.loop.release()), daemon=True)
    freeing.start()
    time.sleep(0.05)
    assert freed == []
    go_on.set()
    freeing.join(WAIT_S)
    assert freed == [True]
    assert flow.loop.release() is False
    flow.end(thread)


@pytest.mark.parametrize("most", [1, 2, 8])
def test_pages_of_one_prompt_are_handed_on_together_once_the_last_is_encoded(most: int) -> None:
    """Whatever batches they were encoded in; a page that fails does not hold up the others."""
    encoding = Encoding(FakeEncoder(bad(3)), most=most, prompt_for=lambda number: f"{number} of <image>")
    lots = Lot(()), Lot(())
    members = [
        *(Ticket(rendered=rendered(number), lot=lots[0]) for number in (0, 1, 2)),
        Ticket(rendered=rendered(7)),
        *(Ticket(rendered=rendered(number), lot=lots[1]) for number in (3, 4)),
    ]
    for its in members:
        if its.lot is not None:
            asyncio.run(its.lot.join(its.rendered.page))
        encoding.incoming.put(its, 1)
    encoding.incoming.finish()
    encoding.loop.run()
    together, *others = sorted(encoding.outgoing.take(9), key=lambda its: -len(its.pages))
    assert together.members == tuple(members[:3])
    assert [its.pages for its in others] == [(its,) for its in (members[3], members[5])]
    request = together.request
    assert request is not None
    assert request.items == tuple(its.request.vision for its in members[:3] if its.request is not None)
    assert request.prompt == "3 of <image>"
    assert members[0].request is not None
    assert request.settings.max_tokens == 3 * members[0].request.settings.max_tokens
    assert failure(members[4]) == ("failed", "encode", "internal")
    assert not any(its.rendered.num_bytes for its in (*members[:3], members[5]))
