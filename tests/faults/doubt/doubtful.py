"""Checks that pages which the shipped model cannot read never pass for read:

python -m tests.faults.doubt.doubtful build DIR
python -m tests.faults.doubt.doubtful check DIR --db FILE

`build` writes pictures of pages in scripts that the model was not trained on, in a hand-like face, and of dots, lines
and noise, clean and worn like scans, each kind a function; the same --seed makes the same files. It needs
fonts-noto-core, fonts-noto-cjk and fonts-dkg-handwriting (Debian's names): kinds whose font is missing are left out,
with a message. `check` has `ocrbatch run` read them, prints how every page ended, and then the faults as JSON: a page
that is ok, or is blank though there is writing on it, or has no reason. The exit code is 1 if there are any.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from storage.database import open_for_reading
from storage.export.rows import PageRow, export_rows
from tests.sample_documents.wear import fax, scan

_SIZE_PX = (1240, 800)
_MARGIN_PX = 90
_NOTO = Path("/usr/share/fonts/truetype/noto")
_CJK = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")
_HAND = Path("/usr/share/fonts/truetype/fifthhorseman/dkg.ttf")

Kind = Callable[[random.Random], Image.Image]


class FontMissingError(Exception):
    """A font that a kind of page is set in is not installed."""


def cyrillic(rng: random.Random) -> Image.Image:
    words = (
        "Настоящий договор вступает в силу со дня его подписания обеими сторонами и действует до полного исполнения "
        "обязательств Стороны обязуются уведомлять друг друга об изменении адреса или банковских реквизитов"
    )
    return _set(_NOTO / "NotoSerif-Regular.ttf", words, rng)


def greek(rng: random.Random) -> Image.Image:
    words = (
        "Η παρούσα σύμβαση τίθεται σε ισχύ από την ημέρα της υπογραφής της και από τα δύο μέρη και ισχύει μέχρι την "
        "πλήρη εκπλήρωση των υποχρεώσεων Τα μέρη υποχρεούνται να ενημερώνουν για κάθε αλλαγή διεύθυνσης"
    )
    return _set(_NOTO / "NotoSans-Regular.ttf", words, rng)


def arabic(rng: random.Random) -> Image.Image:
    words = (
        "يدخل هذا العقد حيز التنفيذ من تاريخ توقيعه من قبل الطرفين ويستمر حتى الوفاء الكامل بالالتزامات ويلتزم الطرفان "
        "بإخطار بعضهما البعض بأي تغيير في العنوان أو البيانات المصرفية خلال عشرة أيام"
    )
    return _set(_NOTO / "NotoNaskhArabic-Regular.ttf", words, rng, right_to_left=True)


def hebrew(rng: random.Random) -> Image.Image:
    words = (
        "הסכם זה ייכנס לתוקף ביום חתימתו על ידי שני הצדדים ויעמוד בתוקפו עד למילוי מלא של ההתחייבויות הצדדים מתחייבים "
        "להודיע זה לזה על כל שינוי בכתובת או בפרטי הבנק בתוך עשרה ימים"
    )
    return _set(_NOTO / "NotoSansHebrew-Regular.ttf", words, rng, right_to_left=True)


def devanagari(rng: random.Random) -> Image.Image:
    words = (
        "यह अनुबंध दोनों पक्षों द्वारा हस्ताक्षर किए जाने के दिन से लागू होता है और दायित्वों की पूर्ण पूर्ति तक मान्य रहता है "
        "पक्ष पते या बैंक विवरण में किसी भी परिवर्तन की सूचना एक दूसरे को देने के लिए बाध्य हैं"
    )
    return _set(_NOTO / "NotoSansDevanagari-Regular.ttf", words, rng)


def thai(rng: random.Random) -> Image.Image:
    words = (
        "สัญญานี้มีผลบังคับใช้ ตั้งแต่วันที่ทั้งสองฝ่าย ลงนามจนกว่า จะปฏิบัติตาม ภาระผูกพันครบถ้วน "
        "คู่สัญญา ต้องแจ้งให้กัน ทราบถึงการเปลี่ยน ที่อยู่หรือบัญชี"
    )
    return _set(_NOTO / "NotoSansThai-Regular.ttf", words, rng)


def georgian(rng: random.Random) -> Image.Image:
    words = (
        "წინამდებარე ხელშეკრულება ძალაში შედის მხარეთა მიერ ხელმოწერის დღიდან და "
        "მოქმედებს ვალდებულებების სრულ შესრულებამდე მხარეები ვალდებულნი არიან"
    )
    return _set(_NOTO / "NotoSansGeorgian-Regular.ttf", words, rng)


def armenian(rng: random.Random) -> Image.Image:
    words = (
        "Սույն պայմանագիրն ուժի մեջ է մտնում երկու կողմերի ստորագրման օրվանից և "
        "գործում է մինչև պարտավորությունների լրիվ կատարումը Կողմերը պարտավոր են"
    )
    return _set(_NOTO / "NotoSansArmenian-Regular.ttf", words, rng)


def chinese(rng: random.Random) -> Image.Image:
    characters = (
        "本合同自双方签字之日起生效至全部义务履行完毕为止双方应在十"
        "日内将地址或银行账户的变更通知对方任何争议应通过友好协商解决"
    )
    return _set(_CJK, characters, rng, dense=True)


def japanese(rng: random.Random) -> Image.Image:
    characters = (
        "本契約は両当事者が署名した日から効力を生じすべての義務が履行される"
        "まで有効とする当事者は住所または口座の変更を通知しなければならない"
    )
    return _set(_CJK, characters, rng, dense=True)


def korean(rng: random.Random) -> Image.Image:
    words = (
        "본 계약은 양 당사자가 서명한 날부터 효력이 발생하며 모든 의무가 이행될 "
        "때까지 유효하다 당사자는 주소 또는 계좌의 변경을 서로 통지하여야 한다"
    )
    return _set(_CJK, words, rng)


def hand(rng: random.Random) -> Image.Image:
    words = (
        "Dear aunt we arrived on Tuesday after a long drive and the house is just as you left it The garden needs "
        "some work but the roses are in bloom Please send the keys for the shed with the next post"
    )
    return _set(_HAND, words, rng, size_px=rng.choice((34, 40, 46)))


def dot_grid(rng: random.Random) -> Image.Image:
    """Draws evenly spaced dots, as on paper for bullet journals or in a halftone picture."""
    pitch, radius = rng.choice((12, 18, 26)), rng.choice((2, 3, 4))
    page = Image.new("L", (1240, 1754), 255)
    draw = ImageDraw.Draw(page)
    for y in range(pitch, page.height, pitch):
        for x in range(pitch, page.width, pitch):
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=20)
    return page


def dot_rows(rng: random.Random) -> Image.Image:
    """Draws rows of dots with gaps, in the rhythm of writing."""
    page = Image.new("L", (1240, 1754), 255)
    draw = ImageDraw.Draw(page)
    for y in range(80, page.height - 80, 34):
        x = 80
        while x < page.width - 80:
            for _ in range(rng.randint(2, 9)):
                draw.ellipse((x, y, x + 9, y + 9), fill=10)
                x += 15
            x += 18
    return page


def speckles(rng: random.Random) -> Image.Image:
    """Draws dirt of the size of parts of letters all over a sheet."""
    noise = np.random.default_rng(rng.randrange(1 << 30))
    page = np.full((1754, 1240), 245, np.uint8)
    for _ in range(9000):
        y, x = noise.integers(0, page.shape[0] - 6), noise.integers(0, page.shape[1] - 6)
        height, width = noise.integers(1, 6, 2)
        page[y : y + height, x : x + width] = noise.integers(0, 90)
    return Image.fromarray(page)


def halftone(rng: random.Random) -> Image.Image:
    """Draws a grey wedge as a printer dithers it."""
    wedge = np.tile(np.linspace(30, 225, 1240, dtype=np.uint8), (1100, 1))
    return Image.fromarray(wedge).convert("1").convert("L").resize((1240, 1100), rng.choice((0, 2)))


def hatching(rng: random.Random) -> Image.Image:
    """Draws short strokes in rows, as on a map."""
    page = Image.new("L", (1240, 1100), 255)
    draw = ImageDraw.Draw(page)
    for y in range(60, page.height - 60, 30):
        for x in range(60, page.width - 60, 13):
            lean = rng.randint(-6, 6)
            draw.line((x, y, x + lean, y + rng.randint(12, 20)), fill=20, width=3)
    return page


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A kind of page. make: draws one. writing: whether it has any, so that it is not blank.

    script: as it may be stored.
    """

    make: Kind
    writing: bool
    script: str | None = None


KINDS: Mapping[str, Expected] = {
    **{
        make.__name__: Expected(make=make, writing=True, script=script)
        for make, script in (
            (cyrillic, "Cyrl"), (greek, "Grek"), (arabic, "Arab"), (hebrew, "Hebr"), (devanagari, "Deva"),
            (thai, "Thai"), (georgian, "Geor"), (armenian, "Armn"), (chinese, "Hani"), (japanese, "Jpan"),
            (korean, "Kore"),
        )
    },
    "hand": Expected(make=hand, writing=True),
    **{
        make.__name__: Expected(make=make, writing=False)
        for make in (dot_grid, dot_rows, speckles, halftone, hatching)
    },
}  # fmt: skip
WEAR: Mapping[str, Callable[[Image.Image, int], Image.Image]] = {
    "clean": lambda page, _: page,
    "scan": lambda page, seed: scan(page, 0.4, seed),
    "fax": fax,
    "second": lambda page, _: page,
}


def build(folder: Path, seed: int = 0) -> int:
    """Writes the pages, KIND/WEAR.png, and returns how many; names the kinds that had to be left out."""
    number = 0
    for name, kind in KINDS.items():
        for place, (wear, worn) in enumerate(WEAR.items()):
            rng = random.Random(f"{seed} {name} {wear}")
            try:
                page = worn(kind.make(rng), seed + place)
            except FontMissingError as error:
                print(f"left out: {name}: {error}", file=sys.stderr)
                break
            (folder / name).mkdir(parents=True, exist_ok=True)
            page.save(folder / name / f"{wear}.png", dpi=(150, 150))
            number += 1
    return number


def faults(rows: Iterator[PageRow]) -> list[str]:
    """Returns the faults: nonsense that is ok, writing that is blank, doubt without a reason."""
    found = []
    for row in rows:
        kind = KINDS[Path(row["path"]).parent.name]
        wrong = ("ok", "blank", "pending") if kind.writing else ("ok", "pending")
        if row["status"] in wrong or (row["status"] == "doubtful" and not row["doubt"]):
            found.append(f"{row['path']}: {row['status']}, {row['confidence']}: {(row['text'] or '')[:60]!r}")
    return found


def check(folder: Path, database: Path, arguments: list[str]) -> int:
    """Reads the folder and reports; returns the exit code."""
    command = [sys.executable, "-m", "pipeline.cli", "run", str(folder), "--db", str(database), "--quiet"]
    code = subprocess.run([*command, *arguments], check=False).returncode
    with closing(open_for_reading(str(database))) as db:
        rows = list(export_rows(db))
    for row in rows:
        seconds = sum(row["timings"].values())
        print(
            f"{row['status']:<10} {row['confidence'] or 0:.2f} {row['script'] or '-':<5}{seconds:7.1f} s {row['path']}"
        )
    wrong = faults(iter(rows))
    print(json.dumps({"pages": len(rows), "exit_code": code, "faults": wrong}, indent=2, ensure_ascii=False))
    return 1 if wrong or code != 3 else 0


def _set(
    path: Path,
    words: str,
    rng: random.Random,
    *,
    dense: bool = False,
    right_to_left: bool = False,
    size_px: int | None = None,
) -> Image.Image:
    """Returns a page of these words in random order. dense: without spaces. Raises: FontMissingError."""
    if not path.exists():
        raise FontMissingError(
            f"{path} is missing; install fonts-noto-core, fonts-noto-cjk, fonts-dkg-handwriting"
        )
    font = ImageFont.truetype(str(path), size_px or rng.choice((22, 26, 30)))
    units, space = (list(words), "") if dense else (words.split(), " ")
    page = Image.new("L", _SIZE_PX, 255)
    draw, line, y = ImageDraw.Draw(page), "", _MARGIN_PX
    width = page.width - 2 * _MARGIN_PX
    step = round(font.size * 1.6)
    while y < page.height - _MARGIN_PX:
        longer = f"{line}{space if line else ''}{rng.choice(units)}"
        if draw.textlength(longer, font) <= width:
            line = longer
            continue
        x = page.width - _MARGIN_PX - draw.textlength(line, font) if right_to_left else _MARGIN_PX
        draw.text((x, y), line, fill=15, font=font)
        line, y = "", y + step
    return page


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    making, checking = commands.add_parser("build"), commands.add_parser("check")
    for command in (making, checking):
        command.add_argument("folder", type=Path)
    making.add_argument("--seed", type=int, default=0)
    checking.add_argument("--db", type=Path, required=True)
    args, rest = parser.parse_known_args()
    if args.command == "build":
        print(f"{build(args.folder, args.seed)} pages in {args.folder}")
        return 0
    return check(args.folder, args.db, rest)


if __name__ == "__main__":
    sys.exit(main())
