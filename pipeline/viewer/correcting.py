"""Saves what somebody wrote in place of a page's text, and takes it back."""

import contextlib
import getpass
from urllib.parse import parse_qsl

from pipeline.viewer.carried_markdown import carried
from storage.database import open_beside
from storage.queries.browsing import OnePage
from storage.records.corrections import Correction, correct, withdraw

MOST_BYTES = 8 << 20
MOST_NAME = 80


def form_of(body: bytes) -> dict[str, str]:
    """Returns the fields of a form. Raises: ValueError where it is none."""
    fields = dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20))
    # Browsers send line ends of their own.
    return {name: value.replace("\r\n", "\n").replace("\r", "\n") for name, value in fields.items()}


def name_of(text: str) -> str:
    """Returns a person's name as it is stored."""
    return " ".join(text.split())[:MOST_NAME] or user_name()


def user_name() -> str:
    """Returns the name of the user who started the reader."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # an account without a name
        return "somebody"


def save(database: str, page: OnePage, text: str, made_by: str, attempt_id: int) -> None:
    """Stores a text for the page. A text that is as read takes earlier ones back.

    attempt_id: the reading that was corrected. Raises: CorrectionError, DatabaseBusyError, DatabaseAccessError.
    """
    text = text.rstrip()
    with contextlib.closing(open_beside(database)) as db:
        if page.attempt_id == attempt_id and text == (page.read_text or "").rstrip():
            withdraw(db, page.page_id)
            return
        markdown = None
        if page.read_text is not None and page.read_markdown is not None:
            markdown = carried(page.read_text, page.read_markdown, text)
        correct(
            db,
            page.page_id,
            Correction(text=text, made_by=name_of(made_by), markdown=markdown),
            attempt_id=attempt_id,
        )


def take_back(database: str, page_id: int) -> None:
    """Makes what was read the page's text again. Raises: DatabaseBusyError, DatabaseAccessError."""
    with contextlib.closing(open_beside(database)) as db:
        withdraw(db, page_id)
