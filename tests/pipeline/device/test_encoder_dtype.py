"""An encoder in a number format of its own."""

from tests.pipeline.checkpoints import TEXT
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import rows


def test_a_bfloat16_encoder_reads_for_a_float32_decoder(batch: Batch) -> None:
    batch.pdf("a.pdf", ["one"])
    assert batch.run(encoder={"dtype": "bfloat16"}).pages == {"ok": 1}
    assert [row["text"] for row in rows(batch.database)] == [TEXT]
