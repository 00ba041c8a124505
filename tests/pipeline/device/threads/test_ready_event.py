"""One thread opens, coroutines pass."""

import asyncio
import threading

from pipeline.device.threads.ready_event import ReadyEvent


def test_all_who_wait_pass_once_it_is_open_and_later_ones_at_once() -> None:
    event = ReadyEvent()

    async def work() -> None:
        given_up, *waiting = (asyncio.create_task(event.passed()) for _ in range(3))
        done, _ = await asyncio.wait((given_up, *waiting), timeout=0.05)
        assert not done
        given_up.cancel()
        await asyncio.wait((given_up,))
        threading.Thread(target=event.open).start()
        await asyncio.gather(*waiting)
        await event.passed()

    asyncio.run(asyncio.wait_for(work(), 30))
    assert not event._waiting


def test_none_who_comes_while_it_opens_is_overlooked() -> None:
    for _ in range(200):
        event = ReadyEvent()
        opening = threading.Thread(target=event.open)

        async def work(event: ReadyEvent = event, opening: threading.Thread = opening) -> None:
            opening.start()
            await asyncio.gather(*(event.passed() for _ in range(4)))

        asyncio.run(asyncio.wait_for(work(), 30))
        opening.join()
