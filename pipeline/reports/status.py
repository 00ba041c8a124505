"""Prints stored results for people: the output of `status`, `eval` and `compare`."""

from collections.abc import Iterable, Iterator, Sequence

from pipeline.reports.listing import counted, cut, page_name
from pipeline.reports.run_figures import run_lines
from storage.database import Row
from storage.queries.listing import FileStatus
from storage.queries.statistics import NEWEST, Status

_RUNS = 20  # the last ones are shown


def status_lines(status: Status) -> list[str]:
    """Returns lines about runs, counts and stage times; empty sections are left out."""
    lines = [f"{status.database}"]
    lines += [f"pages: {counted(status.pages) or 'none'}"]
    lines += [f"documents: {counted(status.documents) or 'none'}"]
    if status.files.get("missing") or status.superseded:
        files = {**status.files, **({"superseded": status.superseded} if status.superseded else {})}
        lines.append(f"files: {counted(files)}; `ocrbatch status --files --all` lists them")
    if status.older_pages:
        kept = f"pages kept as read with other settings than the last run's: {status.older_pages}"
        lines.append(f"{kept}; `ocrbatch status --files --all` says where")
    if status.pages.get("doubtful"):
        lines.append(
            f"pages whose text is doubtful: {status.pages['doubtful']}; `ocrbatch status --files` says why"
        )
    if status.left_out_pages:
        lines.append(f"pages of these documents that no run was asked for: {status.left_out_pages}")
    lines += ["", "runs"]
    for run in status.runs[-_RUNS:]:
        rate = "" if run.pages_per_s is None else f", {run.pages_per_s:.2f} pages/s"
        code = "" if run.exit_code is None else f", exit code {run.exit_code}"
        state = f"{run.state}{code}, {run.num_pages} pages{rate}"
        lines.append(f"  {run.id}: {run.started_at}, {state}, model {run.model}")
        lines += [f"    {line}" for line in run_lines(run.flow, run.encoder)]
    if status.stages:
        lines += ["", f"{'seconds a page':<18}{'pages':>8}{'mean':>10}{'median':>10}{'p99':>10}{'total':>10}"]
    lines += [
        "{stage:<18}{num_pages:>8}{mean_s:>10.4f}{median_s:>10.4f}{p99_s:>10.4f}{total_s:>10.1f}".format(
            **stage
        )
        for stage in status.stages
    ]
    if status.stages and status.num_attempts > NEWEST:
        lines.append(f"of the newest {NEWEST:,} readings")
    return lines


def file_lines(files: Iterable[FileStatus]) -> Iterator[str]:
    """Yields a line per file with its status, pages and faults, followed by a line per page that is not fine."""
    none = True
    for file in files:
        none = False
        yield _file_line(file)
        yield from _page_lines(file)
    if none:
        yield "no files"


def urgent_lines(files: Sequence[FileStatus], num_urgent: int, num_fine: int) -> Iterator[str]:
    """Yields the same of files that need a look, with a bounded number of pages each, and how many others there are."""
    for file in files:
        pages, more = cut(list(_page_lines(file)))
        yield from (_file_line(file), *pages)
        if more:
            yield f"  {more}"
    if left := num_urgent - len(files):
        yield f"and {left} more that need a look"
    yield f"files that need no look: {num_fine}; `ocrbatch status --files --all` lists every file and page"


def evaluation_lines(result: Row) -> list[str]:
    """Returns a line per page, worst last, then the rates of all pages together."""
    pages = sorted(result["pages"], key=lambda page: page["cer"])
    lines = [f"{'CER':>8} {'WER':>8}  page"]
    lines += [
        f"{page['cer']:>8.2%} {page['wer']:>8.2%}  {page_name(page['path'], page['page'])}"
        + ("" if page["status"] in ("ok", "blank", "embedded") else f" ({page['status']})")
        for page in pages
    ]
    lines.append("")
    for title in ("pages without truth", "truth without pages"):
        if keys := result[title.replace(" ", "_")]:
            listed, more = cut(keys)
            named = ", ".join(f"{path} page {page}" for path, page in listed)
            lines.append(f"{title.replace('without pages', 'without a page')}: {named} {more}".rstrip())
    characters, words = ("{num_edits} of {length}".format(**result[unit]) for unit in ("characters", "words"))
    lines.append(
        f"{len(pages)} pages: character error rate {result['cer']:.2%} ({characters}), "
        f"median page {result['median_cer']:.2%}, word error rate {result['wer']:.2%} ({words})"
    )
    return lines


def comparison_lines(found: Row) -> Iterator[str]:
    """Yields the counts, changes of status, the pages that changed most, and each stage's time on both sides."""
    half = (
        f", half of them in {found['median_share']:.1%} of the characters or more" if found["changed"] else ""
    )
    yield f"pages on both sides: {found['same']} with the same text, {found['changed']} with another{half}"
    yield from ("  {before} -> {after}: {pages}".format(**change) for change in found["statuses"])
    for name in ("lost", "new"):
        yield f"{name}: {found[f'num_{name}']}"
        yield from (f"  {page_name(path, page)}" for path, page in found[name])
    if found["most_changed"]:
        yield "changed most:"
    for change in found["most_changed"]:
        before, after = change["before"], change["after"]
        status = after if before == after else f"{before} -> {after}"
        yield f"  {change['share']:6.1%}  {page_name(change['path'], change['page'])} ({status})"
    if found["stages"]:
        yield f"{'seconds a page':<16}{'before':>10}{'after':>10}"
    for stage, (first, second) in found["stages"].items():
        yield f"{stage:<16}{_seconds(first):>10}{_seconds(second):>10}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _page_lines(file: FileStatus) -> Iterator[str]:
    for page in file.doubtful:
        doubt = "" if page["doubt"] is None else f": {page['doubt']}"
        yield f"  page {page['page']}: {page['status']}{doubt}"
    for low in file.low_confidence:
        yield f"  page {low['page']}: {low['status']}, confidence {low['confidence']:.2f}"


def _file_line(file: FileStatus) -> str:
    unasked = file.num_pages - sum(file.pages.values())
    counts = {**file.pages, **({"not asked for": unasked} if unasked else {})}
    older = f"; {file.older_pages} read with other settings than the last run's" if file.older_pages else ""
    pages = f" ({counted(counts)}{older})" if file.num_pages else ""
    reason = f": {file.reason}" if file.reason else ""
    return f"{file.status:<10} {file.num_pages:>5} pages  {file.path}{pages}{reason}"
