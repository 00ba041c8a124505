"""One thread opens, coroutines pass."""

import asyncio
import threading

from pipeline.device.threads.gate import Gate


def test_all_who_wait_pass_once_it_is_open_and_later_ones_at_once() -> None:
    gate = Gate()

    async def work() -> None:
        given_up, *waiting = (asyncio.create_task(gate.passed()) for _ in range(3))
        done, _ = await asyncio.wait((given_up, *waiting), timeout=0.05)
        assert not done
        given_up.cancel()
        await asyncio.wait((given_up,))
        threading.Thread(target=gate.open).start()
        await asyncio.gather(*waiting)
        await gate.passed()

    asyncio.run(asyncio.wait_for(work(), 30))
    assert not gate._waiting


def test_none_who_comes_while_it_opens_is_overlooked() -> None:
    for _ in range(200):
        gate = Gate()
        opening = threading.Thread(target=gate.open)

        async def work(gate: Gate = gate, opening: threading.Thread = opening) -> None:
            opening.start()
            await asyncio.gather(*(gate.passed() for _ in range(4)))

        asyncio.run(asyncio.wait_for(work(), 30))
        opening.join()
