"""What is written is what ElementTree writes, and XML."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from storage.export.xml_text import Element, as_text, part

TEXTS = st.none() | st.text(st.sampled_from("a&<>\"'\r\n\t\x00\ud800é😀"), max_size=8)


@given(TEXTS, TEXTS, st.lists(st.tuples(TEXTS, TEXTS), max_size=3))
def test_elements_are_written_as_elementtree_does(
    text: str | None, value: str | None, inner: list[tuple[str | None, str | None]]
) -> None:
    root = Element("root", {"xmlns": "http://x.example/#"})
    made = part(root, "part", text, class_=value, n=3, share=0.5)
    for words, tail in inner:
        part(made, "inner", words).tail = (
            None if tail is None else tail.replace("\x00", "").replace("\ud800", "")
        )
    assert as_text(root) == ElementTree.tostring(root, encoding="unicode")
    ElementTree.fromstring(as_text(root))
