"""Which pages are read after the others, together or one by one."""

from dataclasses import replace
from pathlib import Path

import pytest

from storage.records.store import Store
from storage.types import PageError, PagePlan
from tests.storage.recovery.test_in_flight import died, plan
from tests.storage.sample_records import SHA_A, a_page, a_run, new_run


@pytest.fixture
def store(path: Path, store: Store) -> Store:
    store.finish_run(new_run(store), exit_code=0, counts={})
    return store


def test_pages_of_one_death_are_read_last_and_those_of_more_alone(store: Store, path: Path) -> None:
    died(store, path, 0, 1)
    died(store, path, 1)
    store.start_run(a_run())
    expected = PagePlan(to_read=(0, 1, 2), done=(), given_up=(), last=(0,), alone={1: 2})
    assert plan(store) == plan(store, force=True) == expected
    store.record_page(store.start_run(a_run()), a_page(), a_page(page_index=0, rung="dense"))
    assert plan(store).last == (), "a page that is done is not read"
    assert plan(store, force=True) == replace(expected, last=())


def test_the_run_that_goes_on_counts_for_nothing(store: Store, path: Path) -> None:
    died(store, path, 0)
    died(store, path, 0, 1)
    assert (plan(store).last, plan(store).alone) == ((0,), {})


def test_a_page_that_was_struck_comes_after_those_that_were_not(store: Store, path: Path) -> None:
    for indices, alone in [((0, 1, 2), False), ((0, 1, 2), False), ((0,), True)]:
        died(store, path, *indices, alone=alone)
    store.start_run(a_run())
    assert plan(store).alone == {0: 3, 1: 2, 2: 2}


def test_deaths_and_lost_devices_add_up(store: Store, path: Path) -> None:
    error = PageError(stage="encode", category="device_lost", message="lost")
    store.record_page(store.start_run(a_run()), replace(a_page(None), error=error))
    assert plan(store).alone == {0: 1}
    died(store, path, 0)
    store.start_run(a_run())
    assert plan(store).alone == {0: 2}
    store.record_page(store.start_run(a_run()), a_page(None))
    assert (plan(store, limit=5).last, plan(store, limit=5).alone) == ((), {}), "it had another end since"


def test_pages_that_were_not_asked_for_stay_out_of_it(store: Store, path: Path) -> None:
    died(store, path, 0, 1, 2)
    store.start_run(a_run())
    assert store.plan_pages(SHA_A, [1], "s", attempt_limit=2).last == (1,)
