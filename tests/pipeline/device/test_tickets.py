"""Pages that share a prompt wait for each other, and for none that does not come."""

import asyncio

from pipeline.device.tickets import Lot, Ticket
from tests.pipeline.device.fakes import rendered, ticket
from tests.pipeline.runs import in_loop

PAGES = [rendered(number).page for number in range(3)]


@in_loop
async def test_a_lot_is_whole_once_each_page_came_or_is_left_out() -> None:
    lot = Lot(PAGES)
    joining = [asyncio.create_task(lot.join(page)) for page in (PAGES[2], PAGES[0])]
    await asyncio.sleep(0)
    assert not any(task.done() for task in joining)
    lot.leave(PAGES[1])
    lot.leave(PAGES[1])
    await asyncio.gather(*joining)


@in_loop
async def test_its_encoded_pages_come_with_the_last_in_the_documents_order() -> None:
    lot = Lot(PAGES)
    await asyncio.gather(*map(lot.join, PAGES))
    last, first, failed = ticket(2), ticket(0), Ticket(rendered=rendered(1))
    assert [lot.encoded(its) for its in (last, failed)] == [(), ()]
    assert lot.encoded(first) == (first, last)
