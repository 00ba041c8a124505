import pytest

from pipeline.config.schema import Config
from pipeline.config.sources import load
from pipeline.errors import ConfigError


def test_rungs_can_be_listed_and_switched_off() -> None:
    assert load(None, ["ladder.rungs=[]"]).ladder.rungs == []
    (rung,) = load(None, ["ladder.rungs=[{name: tiny, mode: tiny}]"]).ladder.rungs
    assert (rung.name, rung.mode, rung.temperature) == ("tiny", "tiny", None)
    assert [rung.name for rung in Config().ladder.rungs] == ["ngram", "mode", "temperature", "layer"]


@pytest.mark.parametrize(
    ("rungs", "message"),
    [
        ("[{name: a}]", "a rung must change something"),
        ("[{name: a, below: 0.5}]", "a rung must change something"),
        ("[{name: a, model: small, below: 2}]", "less than or equal to 1"),
        (
            "[{name: a, text_layer: true, dpi: 300}]",
            "text_layer reads nothing; move dpi to a rung of its own",
        ),
        ("[{name: a, dpi: 300}, {name: a, dpi: 200}]", "two rungs have the same name"),
        ("[{name: a, ngram_size: 1}]", "a sequence has at least 2 tokens"),
        ("[{name: A b, dpi: 300}]", "pattern"),
        ("[{dpi: 300}]", "name"),
        ("[{name: a, heat: 3}]", "heat"),
        ("[{name: a, reader: page}]", "ladder.rungs.0.reader is gone: no page model ships since 0.1.0"),
        ("[{name: a, parts: off}]", "ladder.rungs.0.parts is gone: pages are read whole"),
    ],
)
def test_rungs_that_make_no_sense_are_refused(rungs: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(None, [f"ladder.rungs={rungs}"])
