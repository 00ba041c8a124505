"""Runs the preparer's thread: has pages go through their model's own processor while others are encoded."""

import logging
from typing import TYPE_CHECKING

from pipeline.device.faults import page_error
from pipeline.device.threads.handover import Handover
from pipeline.device.tickets import Ticket
from pipeline.meter import Meter
from pipeline.outcome.results import failed_result, render_timings
from pipeline.stages.encode import prepare

if TYPE_CHECKING:
    from pipeline.device.run_encoder import RunEncoder

LOGGER = logging.getLogger("ocrbatch")


class PreparerLoop:
    """Prepares the pages of one queue for the encoder, in order, and puts them into the next, until the first is over.

    One page at a time: processors and their tokenizers are not made to be called by several threads at once.
    """

    def __init__(
        self, encoder: "RunEncoder", *, incoming: Handover[Ticket], outgoing: Handover[Ticket]
    ) -> None:
        self.meter = Meter()
        self._encoder = encoder
        self._incoming, self._outgoing = incoming, outgoing

    def run(self) -> None:
        """Prepares until the queue is over, and ends the next one. Raises: DeviceLostError."""
        self.meter.start()
        while not self._incoming.is_over:
            with self.meter.waiting("input"):
                tickets = self._incoming.take(1)
            for ticket in tickets:
                try:
                    ticket.rendered = prepare(self._encoder, ticket.rendered)
                except Exception as error:
                    LOGGER.debug("prepare failed for a page", exc_info=error)
                    failure, timings = page_error("prepare", error), render_timings(ticket.rendered.seconds)
                    ticket.settle(failed_result(ticket.rendered.page, failure, timings))
                else:
                    with self.meter.waiting("output"):
                        self._outgoing.put(ticket, ticket.rendered.num_bytes, first=ticket.is_urgent)
        self._outgoing.finish()
        self.meter.stop()
