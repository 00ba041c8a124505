"""Says what to do about pages and files that need a look."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a fault means, and what to do about it. noun: of what is counted; status: of its pages or files."""

    title: str
    remedy: str
    status: str
    noun: str = "page"


_AGAIN = "The next `ocrbatch run` tries again by itself, up to `store.attempt_limit` times"
_DAMAGED = (
    "Fetch the file again from where it came from, or let a PDF viewer or image editor open it and save a copy; the "
    "next run reads what the file holds then"
)
_SMALL_GPU = "Lower `decode.batch_size` or `run.inflight_mb`, or free memory of the device, and run again"
_REPORT = "A fault of the program: please report it with the message below"

# Category of a failed page's error -> what it means, and what to do.
FAILED = {
    "broken": ("The page cannot be drawn: its file is damaged", _DAMAGED),
    "unreadable": ("Parts of the page cannot be drawn, and nothing was read of the rest", _DAMAGED),
    "illegible": (
        "The print is too small to be seen",
        "Draw pages larger: `ocrbatch run PATH --set render.dpi=300 --retry-failed`, or higher still",
    ),
    "oversized": (
        "The page has more pixels than a page may have",
        "Lower `render.dpi`, or raise `ingest.max_image_pixels` where you trust the file",
    ),
    "changed": (
        "The file was changed while the run was at it",
        "Run again: it reads what the file holds now",
    ),
    "encrypted": (
        "The file needs a password",
        "Give it with `ingest.password_file` or `ingest.password_env`, and run again",
    ),
    "timeout": (
        "The page takes too long to draw",
        "Raise `render.page_timeout_s` if the file is worth it, and run again",
    ),
    "crash": (
        "The page ends the process that draws it",
        "Print or save the file anew with another program and read that copy; please report a file that does this",
    ),
    "memory": (
        "The page takes more memory than a worker may use",
        "Raise `render.worker_memory_mb`, or lower `render.dpi` where it is set, and run again",
    ),
    "out_of_memory": ("The device had too little memory", _SMALL_GPU),
    "device_lost": (
        "The GPU was lost while the page was on it",
        f"Look at the GPU with `nvidia-smi`. {_AGAIN}, such pages last and one by one",
    ),
    "model_ended": (
        "The model's computation ended while the page was in it",
        f"Often a lack of memory: `run.replicas=1` needs the least. {_AGAIN}, such pages last and one by one",
    ),
    "process_died": (
        "The whole process ended while the page was being read",
        f"Often a lack of memory. {_AGAIN}; a page that keeps doing this is quarantined and stops no other",
    ),
    "nothing_read": (
        "The reading ended before it wrote anything",
        "Raise `decode.max_tokens` if it is set lower than usual, or look at the page: there may be nothing to read",
    ),
    "refused": ("The database refused what was read", _REPORT),
    "internal": ("An error in the program", _REPORT),
}

# Words in the reason of a doubtful page -> what it means, and what to do. The first that fits counts.
DOUBTFUL = (
    (
        "not trained for",
        "In a script, or a hand, that the model does not read",
        "Name a model that does with `--model`, or as a retry step in `ladder.rungs`, and read the page again",
    ),
    (
        "marks were not read",
        "Most of what is on the page was not read: handwriting, or a drawing",
        "Nothing to do for a drawing. Handwriting needs a model that reads it, by `--model` or as a retry step in "
        "`ladder.rungs`",
    ),
    (
        "none read",
        "Print was seen, and none of it was read",
        "Look at the page: a better scan may be read, or another model (`--model`, or a retry step in `ladder.rungs`)",
    ),
    (
        "letters were read where",
        "Large type shows another number of letters than was read",
        "Compare the few words with the page",
    ),
    (
        "confidence ",
        "Read with a low confidence",
        "Compare the text with the page. A scan of a higher resolution, or a retry step with a larger model "
        "(`ladder.rungs`), reads such pages better",
    ),
    (
        "decoded",
        "Part of the page could not be drawn, so text may be missing",
        _DAMAGED,
    ),
    ("without a confidence", "Read without a confidence", "Compare the text with the page"),
    ("no letter and no digit", "Only marks without letters or digits were read", "Look at the page"),
    ("mostly marks", "Mostly marks of rules, borders or leaders were read", "Look at the page"),
)

# Status of a page, or of a file without pages -> what it means, and what to do.
_OTHERS = {
    "truncated": (
        "Longer than the model's limit of tokens; the text up to there is kept",
        "Raise `decode.max_tokens`, and read such pages again with `ocrbatch run PATH --retry-failed`",
    ),
    "repeated": (
        "The model began to repeat itself and was stopped",
        "A retry step in `ladder.rungs` with another `ngram_size`, `mode` or `model` may read them to their end",
    ),
    "encrypted": (
        "Files that need a password",
        "Give it with `ingest.password_file` or `ingest.password_env`, and run again",
    ),
    "broken": ("Files that cannot be opened", _DAMAGED),
}


def advice_for(status: str, category: str | None, reason: str | None) -> Advice:
    """Returns the advice for a page, or for a file without pages ("encrypted" or "broken").

    category: of a failed page's error; reason: its error's message or its doubt.
    """
    if status == "doubtful":
        known = ((title, remedy) for words, title, remedy in DOUBTFUL if words in (reason or ""))
        title, remedy = next(known, ("The text may be wrong or incomplete", "Compare the text with the page"))
    elif status in _OTHERS:
        title, remedy = _OTHERS[status]
    else:
        title, remedy = FAILED.get(
            category or "", ("The page was not read", f"The message says why. {_AGAIN}")
        )
    noun = "file" if status in ("encrypted", "broken") else "page"
    return Advice(title=title, remedy=remedy, status=status, noun=noun)
