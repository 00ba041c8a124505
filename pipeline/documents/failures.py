"""Defines how opening a file or rendering a page fails, with messages for the person who will read the row."""

from pipeline.types import DocumentStatus


class DocumentError(Exception):
    """A file cannot be read. status: for its row; the message is the reason. is_told: see InputFile."""

    def __init__(self, status: DocumentStatus, reason: str, *, is_told: bool = False) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason
        self.is_told = is_told

    def __str__(self) -> str:
        return self.reason


class PageRenderError(Exception):
    """A page cannot be rendered. category: a short stable word ("broken", "oversized")."""

    def __init__(self, category: str, message: str) -> None:
        super().__init__(category, message)
        self.category = category
        self.message = message

    def __str__(self) -> str:
        return self.message
