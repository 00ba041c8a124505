import pytest

from storage.strings.urls import is_url, name_of, objection, parent_of, without_secrets


def test_urls_are_told_from_paths() -> None:
    assert is_url("s3://bucket/a.pdf")
    assert is_url("https://host/a.pdf")
    assert not any(map(is_url, ["/s3://a", "a/b.pdf", "c:/x.pdf", "C://x", "s3:/bucket/a.pdf", "://x"]))


@pytest.mark.parametrize(
    "url",
    [
        "s3://key:secret@bucket/a.pdf",
        "https://me@host/a.pdf",
        "https://bucket.s3.amazonaws.com/a.pdf?X-Amz-Signature=secret",
        "https://account.blob.core.windows.net/c/a.pdf?se=2026&sig=secret",
        "file:///etc/passwd",
    ],
)
def test_a_url_with_credentials_is_refused_without_showing_them(url: str) -> None:
    assert "secret" not in (objection(url) or "secret")


@pytest.mark.parametrize(
    "url",
    ["s3://bucket/a:b@c.pdf", "abfs://container@account.dfs.core.windows.net/a.pdf", "https://h/a?page=2"],
)
def test_names_that_only_look_like_credentials_are_taken(url: str) -> None:
    assert objection(url) is None


def test_a_url_is_taken_apart_without_touching_its_name() -> None:
    assert name_of("s3://bucket/folder/what?#1.pdf") == "what?#1.pdf"
    assert name_of("https://host/folder/a.pdf?v=2#x") == "a.pdf"
    assert parent_of("s3://bucket/folder/what?.pdf") == "s3://bucket/folder"
    assert parent_of("s3://bucket/a.pdf") == "s3://bucket"
    assert parent_of("s3://bucket") is None
    assert without_secrets("s3://k:s@bucket/a?.pdf") == "s3://bucket/a?.pdf"
