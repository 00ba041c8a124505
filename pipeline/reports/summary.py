"""Counts what a run does while it goes on, and summarises it at the end."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from pipeline.errors import ExitCode
from pipeline.ingest.selection import InputCounts
from pipeline.meter import StageUse, bottleneck
from pipeline.reports.listing import counted, page_counts, page_name, passed_over
from pipeline.reports.run_figures import WorkerUse, encoder_lines, worker_lines
from pipeline.types import DocumentStatus, InputFile, PageResult, PageStatus, Phase

if TYPE_CHECKING:
    from encoders.graphs.stats import PathStats

UNREADABLE = ("encrypted", "broken")
INCOMPLETE = ("doubtful", "repeated", "truncated", "failed", "quarantined")


class Progress:
    """Is told of a run's progress, and does nothing with it. Displays and logs extend it by what they show."""

    def pages_found(self, num_pages: int) -> None:
        """Reports that this many more pages are to be read."""

    def all_found(self) -> None:
        """Reports that no more pages will be found."""

    def at_work(self, phase: Phase, num_tokens: int) -> None:
        """Reports, several times a second, the run's phase and the tokens written so far."""

    def workers(self, workers: Sequence[WorkerUse]) -> None:
        """Is told now and then what each of a run's workers does."""

    def document_refused(self, document: InputFile) -> None:
        """Reports a PDF or image that cannot be read, or a file of unknown type; its status and reason say which."""

    def page_done(self, result: PageResult) -> None:
        """Reports that a page was read, or failed, and is stored."""

    def page_rescued(self, first: PageResult, result: PageResult) -> None:
        """Reports a finished page that was not read well at first: that first attempt, and the page's final result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """What models did in a run. load_s: seconds of loading, 0 if none was needed, of which capture_s were for graphs.

    num_tokens: that the language model wrote. gpu_busy: share of the time, 0 to 1, in which the GPU did anything, from
    when the model was loaded; None without a GPU, or if its driver does not tell. encoder: statistics of the paths of
    encoder and line reader, by name; None where none was needed. read_on: the GPUs that the line reader used, "" where
    there was none.
    """

    load_s: float = 0.0
    capture_s: float = 0.0
    num_tokens: int = 0
    gpu_busy: float | None = None
    encoder: "Mapping[str, PathStats] | None" = None
    read_on: str = ""

    def encoder_summary(self) -> dict[str, dict[str, Any]] | None:
        """Returns the statistics as JSON values."""
        return None if self.encoder is None else {path: its.summary() for path, its in self.encoder.items()}


@dataclass(slots=True, kw_only=True)
class RunSummary(InputCounts):
    """The counts of one run. Mutable: the runner adds to it.

    pages: page status -> pages of this run.
    num_quarantined: given-up pages and those quarantined in this run, of the files that it found; quarantined: the path
    and page number of the first of them.
    num_low_confidence: pages of this run that were read with a confidence below store.low_confidence.
    num_rescued: pages of this run whose first reading failed, repeated itself, was cut short or was doubtful, and which
    a retry step, text layer included, then read well.
    num_unread: pages of this run whose text layer was taken without reading them.
    sent_up: pages of this run that a retry step's model read too, by the model's name.
    stages, did: where each stage's time went, and what the models did, once the run is over.
    workers: what each worker did, empty where this process read.
    empty_paths: given paths below which there is nothing to read any more, and how many files were there before.
    stopped: why the run ended early. run_id: its row in the database, None before there is one.
    num_documents_left: files that the run did not probe before it ended; a lower bound where all_documents_known is
    False.
    """

    database: str
    run_id: int | None = None
    num_documents_left: int = 0
    all_documents_known: bool = True
    pages: Counter[str] = field(default_factory=Counter)
    num_quarantined: int = 0
    quarantined: list[tuple[str, int]] = field(default_factory=list)
    num_missing: int = 0
    empty_paths: list[tuple[str, int]] = field(default_factory=list)
    num_low_confidence: int = 0
    num_rescued: int = 0
    num_unread: int = 0
    sent_up: Counter[str] = field(default_factory=Counter)
    wall_s: float = 0.0
    stages: list[StageUse] = field(default_factory=list)
    did: ModelFigures = field(default_factory=ModelFigures)
    workers: list[WorkerUse] = field(default_factory=list)
    stopped: str | None = None

    @property
    def num_pages(self) -> int:
        """The number of pages of this run that have a result."""
        return self.pages.total()

    @property
    def num_left(self) -> int:
        """The number of pages that were to be read and have no result."""
        return max(0, self.num_to_read - self.num_pages)

    @property
    def exit_code(self) -> ExitCode:
        """The run's exit code. Unknown file types, left-out pages and pages kept from other settings are no faults."""
        if self.stopped is not None:
            return ExitCode.STOPPED
        faults = sum(self.documents[status] for status in UNREADABLE)
        faults += len(self.empty_paths)
        # Nothing could be read of what was asked for; a few short documents among others are no fault.
        faults += bool(self.num_beside) and self.num_beside == self.documents["ok"] - self.num_copies
        faults += sum(self.pages[status] for status in INCOMPLETE)
        faults += self.num_given_up + self.num_doubtful_before
        return ExitCode.INCOMPLETE if faults else ExitCode.OK

    def warnings(self) -> list[str]:
        """Returns warnings to print even when nothing else is printed."""
        return [
            f"{path}: nothing to read is left of {count} files that earlier runs found; mount it again if "
            "it is a share or a disk, or leave the path out; `ocrbatch prune --missing` forgets what is gone for good"
            for path, count in self.empty_paths
        ]

    def counts(self) -> dict[str, int]:
        """Returns the counts that are stored in the run's row."""
        return {
            **{f"pages_{status}": count for status, count in sorted(self.pages.items())},
            **{f"documents_{status}": count for status, count in sorted(self.documents.items())},
            "pages_done_before": self.num_done_before,
            "pages_doubtful_before": self.num_doubtful_before,
            "pages_given_up": self.num_given_up,
            "pages_kept": self.num_kept,
            "pages_quarantined": self.num_quarantined,
            "pages_left_out": self.num_left_out,
            "pages_left": self.num_left,
            "pages_low_confidence": self.num_low_confidence,
            "pages_rescued": self.num_rescued,
            "pages_unread": self.num_unread,
            **({"pages_sent_up": self.sent_up.total()} if self.sent_up else {}),
            "documents_missing": self.num_missing,
            "documents_left": self.num_documents_left,
            "paths_empty": len(self.empty_paths),
        }

    def flow(self) -> dict[str, Any]:
        """Returns the figures about the stages that are stored in the run's row."""
        return {
            "stages": [asdict(stage) for stage in self.stages],
            "num_tokens": self.did.num_tokens,
            "gpu_busy": self.did.gpu_busy,
            **({"workers": [asdict(its) for its in self.workers]} if self.workers else {}),
        }

    def lines(self, *, verbose: bool = False) -> list[str]:
        """Returns the lines of the summary that `ocrbatch run` prints at its end. verbose: where the time went, too."""
        lines = [f"stopped before the end: {self.stopped}; run it again to go on"] if self.stopped else []
        lines += [f"left to read: {self.left()}"] if self.stopped else []
        rate = f" ({self.num_pages / self.wall_s:.2f} pages/s)" if self.num_pages and self.wall_s else ""
        lines.append(f"pages: {_listed(self.pages) or 'none to read'}{rate}")
        lines += [f"read line by line, on {self.did.read_on}"] if self.did.read_on else []
        lines += page_counts(
            {
                "that needed no reading, as their text layers were taken": self.num_unread,
                "with low confidence": self.num_low_confidence,
                "rescued by another reading or the text layer": self.num_rescued,
            }
        )
        lines += [
            f"pages read with {model} too: {count} of {self.num_pages} ({count / self.num_pages:.1%})"
            for model, count in sorted(self.sent_up.items())
        ]
        lines += passed_over(self, num_doubtful=self.num_doubtful_before)
        if self.pages["doubtful"] or self.num_doubtful_before:
            status = f"ocrbatch status --files --db {shlex.quote(self.database)}"
            lines.append(
                f"the text of doubtful pages may be wrong: `{status}` says why; --retry-failed reads them again"
            )
        if self.num_quarantined:
            lines.append(f"pages quarantined: {self.num_quarantined}; read them again with --retry-failed")
            lines += [f"  {page_name(path, number)}" for path, number in self.quarantined]
        lines.append(f"documents: {_listed(self.documents) or 'none found'}")
        lines += [f"  {count} of them: {what}" for what, count in sorted(self.told.items())]
        if self.num_beside:
            lines.append(f"documents that have none of the pages that were asked for: {self.num_beside}")
            lines += [f"  {path}: {number} in all" for path, number in self.beside]
        if self.num_missing:
            lines.append(f"documents missing since an earlier run: {self.num_missing}")
        lines += self.warnings()
        if verbose and self.num_pages and (slowest := bottleneck(self.stages)):
            others = [stage for stage in self.stages if stage is not slowest]
            shares = ", ".join(f"{stage.name} {stage.busy:.0%}" for stage in others)
            gpu = (
                ""
                if self.did.gpu_busy is None
                else f"; no kernel ran on the GPU for {1 - self.did.gpu_busy:.0%}"
            )
            lines.append(
                f"bottleneck: {slowest.name}, busy for {slowest.busy:.0%} of {self.wall_s:.1f} s ({shares}){gpu}"
                f"{self._loading()}"
            )
            lines += encoder_lines(self.did.encoder_summary())
        lines += worker_lines([asdict(its) for its in self.workers])
        database = shlex.quote(self.database)
        lines.append(
            f"results: {self.database}; see them in the browser: ocrbatch view --db {database}; "
            f"as text: ocrbatch export --db {database} --format md"
        )
        return lines

    def left(self) -> str:
        """Returns what the run did not get to, in words."""
        at_least = "" if self.all_documents_known else "at least "
        documents = f"{at_least}{self.num_documents_left} documents not inspected yet"
        return f"{self.num_left} pages, and {documents}"

    def _loading(self) -> str:
        if not self.did.load_s:
            return ""
        capture = f" (encoder graphs {self.did.capture_s:.1f} s of it)" if self.did.capture_s >= 0.1 else ""
        return f", loading the model {self.did.load_s:.1f} s{capture}"


def _listed(counts: Counter[str]) -> str:
    ordered = (*get_args(PageStatus), *get_args(DocumentStatus))
    return counted({status: counts[status] for status in ordered if counts[status]})
