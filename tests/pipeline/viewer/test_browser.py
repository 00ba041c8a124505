"""The reader as a person uses it, in headless Chromium; skipped where that or playwright is not installed."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.database import open_for_reading
from storage.export.rows import export_rows
from tests.pipeline.viewer.shelf import LETTER, Shelf, make_shelf

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: pip install playwright"
)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")
ROOT = Path(__file__).parents[3]
WAIT_MS = 60_000


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return make_shelf(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def address(shelf: Shelf) -> Iterator[str]:
    """The command itself, as a user starts it."""
    command = [sys.executable, "-m", "pipeline.cli", "view", "--db", shelf.database, "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"open (\S+) in a browser", line)
        assert found, line
        yield Path(found[1]).as_uri()
        process.terminate()
        assert process.wait(60) is not None


@pytest.fixture(scope="module")
def chromium() -> Iterator["playwright.Browser"]:
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=["light"])
def tab(
    request: pytest.FixtureRequest, chromium: "playwright.Browser", address: str
) -> Iterator["playwright.Page"]:
    """A tab at the list of documents. Whatever its console says, or is loaded from elsewhere, fails the test."""
    context = chromium.new_context(color_scheme=request.param, viewport={"width": 1300, "height": 800})
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: elsewhere(request.url, address, said))
    page.goto(address)
    yield page
    context.close()
    # A picture that cannot be drawn is a 404, which Chromium mentions.
    assert [text for text in said if "404" not in text] == []


def elsewhere(url: str, address: str, said: list[str]) -> None:
    if not url.startswith((address.split("?")[0], "blob:")):
        said.append(f"asked for {url}")


def open_letter(tab: "playwright.Page") -> None:
    tab.get_by_role("link", name="letter <b>.pdf").click()
    tab.get_by_text("page 1").first.click()
    tab.wait_for_selector("#sheet rect", state="attached")


def test_from_the_list_to_a_page_and_its_picture(tab: "playwright.Page") -> None:
    assert "token" not in tab.url
    open_letter(tab)
    assert tab.inner_text("#text") == LETTER
    assert tab.evaluate("document.querySelector('#sheet img').decode().then(() => true)")
    assert tab.locator("#sheet rect").count() == len(LETTER.split())


def test_words_and_boxes_show_each_other(tab: "playwright.Page") -> None:
    open_letter(tab)
    tab.locator("#text .w", has_text="Quill").hover()
    assert tab.locator("#sheet rect.on").get_attribute("x") == "200"
    tab.locator("#sheet rect").nth(6).click()
    assert tab.locator("#text .w.on").inner_text() == "bent"
    tab.mouse.move(5, 5)
    assert tab.locator("#text .w.on").inner_text() == "bent"  # a click holds it
    tab.keyboard.press("b")
    assert "boxed" in str(tab.get_attribute("#sheet", "class"))


def test_search_by_key_leads_to_the_page(tab: "playwright.Page") -> None:
    tab.keyboard.press("/")
    tab.keyboard.type("rudder")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/search**")
    tab.locator(".entry").click()
    tab.wait_for_selector(".w.hit")
    assert tab.locator(".w.hit").all_inner_texts() == ["rudder"]


def test_keys_turn_pages_and_find_doubtful_ones(tab: "playwright.Page") -> None:
    open_letter(tab)
    for key, ending in (
        ("ArrowRight", "/page/2"),
        ("ArrowLeft", "/page/1"),
        ("n", "/page/2"),
        ("n", "/page/3"),
    ):
        tab.keyboard.press(key)
        tab.wait_for_url(f"**{ending}")
        tab.wait_for_load_state()
    assert tab.locator("h1, script:not([src])").count() == 0
    assert "<script>alert(1)</script>" in tab.inner_text("#text")
    tab.keyboard.press("?")
    tab.wait_for_selector("#help")
    tab.keyboard.press("Escape")
    tab.wait_for_selector("#help", state="hidden")
    tab.keyboard.press("t")
    tab.wait_for_selector("#markdown")


def test_a_page_whose_file_is_gone_keeps_its_text(tab: "playwright.Page") -> None:
    tab.goto(tab.url + "page/4")
    tab.wait_for_function("document.getElementById('no-picture').textContent.includes('not there any more')")
    assert tab.inner_text("#text") == "still here"


@pytest.mark.parametrize("tab", ["light", "dark"], indirect=True)
def test_it_is_as_light_or_dark_as_the_system(tab: "playwright.Page", request: pytest.FixtureRequest) -> None:
    colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", colour)[:3])) / 3
    assert brightness > 200 if "[light]" in request.node.name else brightness < 60


def test_a_text_is_corrected_and_the_correction_withdrawn(tab: "playwright.Page", shelf: Shelf) -> None:
    open_letter(tab)
    tab.keyboard.press("e")
    area = tab.locator("textarea")
    assert area.input_value() == LETTER
    area.fill(LETTER.replace("bent", "broken"))
    tab.fill("input[name=name]", "Ada")
    area.press("Control+Enter")
    tab.wait_for_selector(".chip.corrected")
    assert tab.inner_text("#text").endswith("broken")
    assert text_of(shelf) == (LETTER.replace("bent", "broken"), "Ada")
    tab.click("#original")
    tab.wait_for_url("**text=read")
    assert tab.inner_text("#text") == LETTER
    tab.click("#withdraw")
    tab.wait_for_selector(".chip.corrected", state="detached")
    assert text_of(shelf) == (LETTER, None)


def text_of(shelf: Shelf) -> tuple[str | None, str | None]:
    with open_for_reading(shelf.database) as db:
        row = next(row for row in export_rows(db) if row["path"] == str(shelf.letter))
    return row["text"], row["corrected_by"]
