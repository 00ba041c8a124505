"""Which paths a --path takes."""

import pytest

from pipeline.ingest.globs import stored_path_matcher


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*made*", "/tmp/made-up/a.pdf", True),
        ("*made*", "/x/unmade.pdf", True),
        ("*made*", "/x/y.pdf", False),
        ("*.pdf", "/x/a.PDF", True),
        ("a.pdf", "/x/ba.pdf", False),
        ("home", "/home/me/a.pdf", True),
        ("invoices/*.pdf", "/home/me/invoices/a.pdf", True),
        ("invoices/*.pdf", "/home/me/invoices/b/a.pdf", False),
        ("**/invoices/**", "/home/me/invoices/b/a.pdf", True),
        ("./in/", "in/a.pdf", True),
        ("/home/*", "/home/me/a.pdf", True),
        ("/home/*.pdf", "/home/me/a.pdf", False),
        ("/me", "/home/me/a.pdf", False),
        ("/in/*.pdf", "in/a.pdf", True),
    ],
)
def test_a_glob_takes_files_and_folders_from_anywhere(glob: str, path: str, expected: bool) -> None:
    assert stored_path_matcher([glob])(path) == expected
