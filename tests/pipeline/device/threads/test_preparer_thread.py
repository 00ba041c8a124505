"""The preparer's thread: pages in order, ahead of the encoder within bounds, and what a fault costs."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from encoders.views import PageViews
from pipeline.config.schema import DecodeConfig
from pipeline.device.threads.encoder_thread import EncoderLoop
from pipeline.device.threads.handover import Handover
from pipeline.device.threads.preparer_thread import PreparerLoop
from pipeline.device.tickets import Ticket
from pipeline.errors import DeviceLostError
from pipeline.types import PageResult
from tests.pipeline.device.fakes import FakeEncoder, rendered
from tests.pipeline.runs import WAIT_S, wait_until

VIEW_BYTES = 3 * 4 * 4


@dataclass
class FakeProcessor:
    """Reduces a page's view of 8 px to 4. fault: what a page raises."""

    fault: Callable[[int], Exception | None] = lambda number: None
    prepared_numbers: list[int] = field(default_factory=list)

    def prepared(self, page: PageViews) -> PageViews:
        number = int(page.global_view[0, 0, 0])
        self.prepared_numbers.append(number)
        if error := self.fault(number):
            raise error
        return replace(page, global_view=np.full((3, 4, 4), number, np.uint8))


class Preparing:
    def __init__(self, processor: FakeProcessor, out_bytes: int | None = None) -> None:
        self.incoming: Handover[Ticket] = Handover()
        self.outgoing: Handover[Ticket] = Handover(out_bytes)
        encoder: Any = processor
        self.loop = PreparerLoop(encoder, incoming=self.incoming, outgoing=self.outgoing)

    def put(self, *numbers: int, urgent: bool = False) -> list[Ticket]:
        tickets = [Ticket(rendered=rendered(number), is_urgent=urgent) for number in numbers]
        for ticket in tickets:
            self.incoming.put(ticket, ticket.num_bytes, first=urgent)
        return tickets

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self.loop.run, daemon=True)
        thread.start()
        return thread

    def handed_on(self, most: int = 100) -> list[int]:
        return [ticket.rendered.page.page_index for ticket in self.outgoing.take(most, timeout_s=0)]


def test_pages_come_in_order_as_they_are_encoded_and_end_the_next_queue() -> None:
    flow = Preparing(FakeProcessor())
    tickets = flow.put(0, 1, 2)
    flow.incoming.finish()
    flow.loop.run()
    assert flow.handed_on() == [0, 1, 2]
    assert flow.outgoing.is_over
    for number, ticket in enumerate(tickets):
        assert ticket.rendered.views.global_view.shape == (3, 4, 4)
        assert (ticket.rendered.views.global_view == number).all()
        assert ticket.num_bytes == 3 * 8 * 8, "what the run's budget holds for it"
        assert ticket.rendered.seconds.keys() == {"render", "prepare"}
        assert not ticket.outcome.done()


def test_it_is_ahead_by_so_many_bytes_and_no_further() -> None:
    flow = Preparing(FakeProcessor(), out_bytes=2 * VIEW_BYTES)
    flow.put(*range(6))
    thread = flow.start()
    wait_until(lambda: flow.loop.meter.state == "output")
    time.sleep(0.05)
    assert len(flow.outgoing) == 2
    processor: Any = flow.loop._encoder
    assert processor.prepared_numbers == [0, 1, 2], "one more is ready and waits for room"
    flow.put(9, urgent=True)
    found = []
    while len(found) < 7:
        found += flow.handed_on(1)
    assert found == [0, 1, 9, 2, 3, 4, 5] or found == [0, 1, 2, 9, 3, 4, 5]
    flow.incoming.finish()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert flow.loop.meter.use("prepare", 1.0).waiting_output >= 0.05


def test_the_next_page_is_prepared_while_one_is_encoded() -> None:
    """Else the batch of page 0, which waits for that, would never end."""
    processor = FakeProcessor()
    flow = Preparing(processor)
    encoder = FakeEncoder(fault=lambda batch: wait_until(lambda: processor.prepared_numbers == [0, 1]))
    taken: Any = encoder
    encoded: Handover[Ticket] = Handover()
    loop = EncoderLoop(taken, DecodeConfig(), incoming=flow.outgoing, outgoing=encoded, most=1)
    threads = [flow.start(), threading.Thread(target=loop.run, daemon=True)]
    threads[1].start()
    flow.put(0)
    wait_until(lambda: encoder.batches == [[0]])
    flow.put(1)
    flow.incoming.finish()
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()
    assert [ticket.rendered.page.page_index for ticket in encoded.take(2)] == [0, 1]


@pytest.mark.parametrize(("message", "category"), [("a bug", "internal"), ("out of memory", "out_of_memory")])
def test_a_page_that_cannot_be_prepared_costs_itself_only(message: str, category: str) -> None:
    flow = Preparing(FakeProcessor(lambda number: RuntimeError(message) if number == 1 else None))
    tickets = flow.put(0, 1, 2)
    flow.incoming.finish()
    flow.loop.run()
    assert flow.handed_on() == [0, 2]
    result = tickets[1].outcome.result(0)
    assert isinstance(result, PageResult)
    assert result.error is not None
    assert (result.page.page_index, result.status) == (1, "failed")
    assert (result.error.stage, result.error.category) == ("prepare", category)
    assert [timing.stage for timing in result.timings] == ["render"]


def test_what_ends_the_run_ends_it() -> None:
    flow = Preparing(FakeProcessor(lambda number: RuntimeError("CUDA error: unspecified launch failure")))
    flow.put(0)
    with pytest.raises(DeviceLostError):
        flow.loop.run()


def test_it_ends_while_it_waits_for_room() -> None:
    flow = Preparing(FakeProcessor(), out_bytes=1)
    flow.put(0, 1, 2)
    thread = flow.start()
    wait_until(lambda: flow.loop.meter.state == "output")
    for queue in (flow.incoming, flow.outgoing):
        queue.abandon()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert flow.handed_on() == []
