import json
import pickle

import pytest

from pipeline.device.served_networks import Request


def test_a_request_comes_back_from_its_message() -> None:
    asked = Request(stacks=(("find", 1, (1152, 832)), ("line", 7, (40, 1024))))
    assert Request.parsed(asked.message()) == asked
    assert Request.parsed(b"8388608") == 8388608


@pytest.mark.parametrize(
    "message",
    [
        pickle.dumps(Request(stacks=())),
        b"",
        json.dumps({"stacks": []}).encode()[:-1],
        json.dumps([["line", 7]]).encode(),
        json.dumps([["line", "many", [40, 1024]]]).encode(),
        b"null",
    ],
)
def test_nothing_but_names_and_numbers_is_taken(message: bytes) -> None:
    with pytest.raises((ValueError, TypeError)):
        Request.parsed(message)
