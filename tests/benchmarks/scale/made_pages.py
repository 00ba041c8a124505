"""Makes documents and pages for which no file exists: as many as wanted, always the same, at next to no cost.

A page's text is one of a few that are made beforehand, of words as frequent as those of a language, with a block for
each paragraph and a box for each word. A message with such a page is made by putting a document's hash and a page's
number into one that is pickled already: what a worker would spend on it is not spent in the process that is measured.
"""

import hashlib
import pickle
import random
from collections.abc import Iterator
from dataclasses import dataclass

from ocr.types import Block, ParsedText, Word
from pipeline.cluster.request_handler import RequestHandler
from pipeline.cluster.worker_messages import Asked
from pipeline.ingest.walk import Candidate
from pipeline.stages.store import packed, store_page
from pipeline.types import InputFile, Page, PageResult
from storage.types import StageTiming

# No such folder need exist.
ROOT = "/archive"
NUM_TEXTS = 64
_VOCABULARY = 50_000
_WORDS_A_LINE, _LINES_A_BLOCK = 10, 4
_STAGES = ("discover", "render", "tile", "encode", "prefill", "decode", "words")
# Stand for a document's hash and path, and for the numbers of a page, of a run and of a question.
_SHA256, _PAGE, _RUN, _ASKED = "0" * 64, 0x7A5A0001, 0x7A5A0002, 0x7A5A0003


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Documents of so many pages each. first: the number of its first one."""

    num_pages: int
    pages_each: int = 20
    first: int = 0

    @property
    def num_documents(self) -> int:
        """The number of documents; the last one may have fewer pages."""
        return -(-self.num_pages // self.pages_each)

    def files(self) -> Iterator[Candidate]:
        """Yields the files, none of which exists."""
        for number in range(self.num_documents):
            path = path_of(self.first + number)
            yield Candidate(path=path, relative=path.rpartition("/")[2])

    def document(self, path: str) -> InputFile:
        """Returns what probing a file would."""
        number = int(path[-12:-4])
        return InputFile(
            path=path,
            sha256=sha256_of(path),
            size_bytes=100_000 * self.pages_each,
            kind="pdf",
            num_pages=min(self.pages_each, self.num_pages - (number - self.first) * self.pages_each),
            status="ok",
            seconds=0.02,
        )


def path_of(number: int) -> str:
    """Returns the path of a document; all are equally long."""
    return f"{ROOT}/{number // 1000:05d}/scanned-document-{number:08d}.pdf"


def sha256_of(path: str) -> str:
    """Returns the hash of a document's content."""
    return hashlib.sha256(path.encode()).hexdigest()


class Pages:
    """Makes messages that ask for a page to be stored. num_words: of its text; has_words: whether these have boxes."""

    def __init__(
        self, settings_hash: str, num_words: int = 400, *, has_words: bool = True, seed: int = 1
    ) -> None:
        words = _Words(random.Random(seed))
        self._results = [words.page(num_words, has_words=has_words) for _ in range(NUM_TEXTS)]
        self._stored = [_message(result, settings_hash) for result in self._results]

    def store(self, number: int, run_id: int, path: str, sha256: str, page_index: int) -> bytes:
        """Returns the pickled message of a worker that has read a page. number: of the answer that it waits for."""
        content = self._stored[(page_index * 31 + int(sha256[:8], 16)) % NUM_TEXTS]
        for old, new in ((_PAGE, page_index), (_RUN, run_id), (_ASKED, number)):
            content = content.replace(old.to_bytes(4, "little"), new.to_bytes(4, "little"))
        return content.replace(_SHA256.encode(), sha256.encode()).replace(path_of(0).encode(), path.encode())

    def result(self, path: str, sha256: str, page_index: int) -> PageResult:
        """Returns the same page as a value."""
        asked: Asked = pickle.loads(self.store(0, 0, path, sha256, page_index))
        found: PageResult = asked.args[3]
        return found


def _message(result: PageResult, settings_hash: str) -> bytes:
    # As pipeline.cluster.worker_channel sends it.
    args = (store_page, _RUN, settings_hash, packed(result))
    asked = Asked(number=_ASKED, ask=RequestHandler.call, args=args, kwargs={"attempt_limit": 3})
    return pickle.dumps(asked)


class _Words:
    """Words of a made language: a few are most of its text, as in any."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        letters = "etaoinshrdlucmfwypvbgkjqxz"
        weights = [26 - rank for rank in range(26)]
        self._words = [
            "".join(chance.choices(letters, weights, k=1 + min(11, int(chance.gammavariate(4, 1.4)))))
            for _ in range(_VOCABULARY)
        ]
        self._often = [1 / (rank + 2.7) for rank in range(_VOCABULARY)]

    def page(self, num_words: int, *, has_words: bool) -> PageResult:
        """Returns a page as a model that finds words reads it."""
        names = self._chance.choices(self._words, self._often, k=num_words)
        lines = [names[start : start + _WORDS_A_LINE] for start in range(0, num_words, _WORDS_A_LINE)]
        words, blocks = [], []
        for row, line in enumerate(lines):
            x, y = 150, 200 + 50 * row
            for name in line:
                words.append(
                    Word(text=name, box_px=(x, y, x + 18 * len(name), y + 36), confidence=self._sure())
                )
                x += 18 * len(name) + 14
        for start in range(0, len(lines), _LINES_A_BLOCK):
            part = lines[start : start + _LINES_A_BLOCK]
            box = (150, 200 + 50 * start, 1500, 200 + 50 * (start + len(part)))
            text = "\n".join(" ".join(line) for line in part)
            blocks.append(Block(label="text", text=text, box_px=box, confidence=self._sure()))
        text = "\n\n".join(block.text for block in blocks)
        seconds = [
            StageTiming(stage=stage, share_s=self._chance.random(), wall_s=1.0, batch_size=16)
            for stage in _STAGES
        ]
        return PageResult(
            page=Page(path=path_of(0), sha256=_SHA256, kind="pdf", page_index=_PAGE),
            status="ok",
            parsed=ParsedText(
                text=text, markdown=text, blocks=tuple(blocks), words=tuple(words) if has_words else ()
            ),
            error=None,
            confidence=self._sure(),
            num_tokens=int(num_words * 1.6),
            width_px=1654,
            height_px=2339,
            dpi=200.0,
            timings=tuple(seconds),
        )

    def _sure(self) -> float:
        return round(self._chance.uniform(0.8, 1.0), 3)
