"""Makes pages of which is known how they must not end, has ocrbatch read them, and counts how they ended:

python -m tests.faults.statuses make DIR
python -m tests.faults.statuses ordinary DIR
python -m tests.faults.statuses measure DIR --db FILE

`make` writes DIR/KIND/NAME and the statuses in which each page may end, DIR/manifest.json; the same files every time.
`measure` runs ocrbatch over DIR, prints a table by
kind and every page that ended otherwise, and returns 1 if there are any; further arguments go to `ocrbatch run`.
Packages of Debian are fetched with apt-get. Kinds that need --mirrors (git copies, MIRRORS/owner+name/repo) are left
out without it.
"""

import argparse
import json
import sys
from pathlib import Path

from tests.faults.statuses.kinds import KINDS, ORDINARY
from tests.faults.statuses.measure import MANIFEST, measure
from tests.faults.statuses.pages import Workshop


def make(folder: Path, shop: Workshop, kinds: list[str]) -> int:
    """Writes the pages of these kinds, beside those that are there, and returns how many."""
    path = folder / MANIFEST
    manifest = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    made = {}
    for kind in kinds:
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for page in {**KINDS, **ORDINARY}[kind](shop):
            name = f"{kind}/{page.name}{page.suffix}"
            (folder / name).write_bytes(page.content)
            made[name] = {"statuses": sorted(page.statuses), "text": page.text, "holds": page.holds}
    path.write_text(json.dumps({**manifest, **made}, ensure_ascii=False, indent=1), encoding="utf-8")
    return len(made)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, known in (("make", KINDS), ("ordinary", ORDINARY)):
        making = commands.add_parser(name)
        making.add_argument("folder", type=Path)
        making.add_argument("--kinds", nargs="*", choices=list(known), default=list(known))
        making.add_argument("--packages", type=Path, help="where packages are kept; default: DIR/../packages")
        making.add_argument("--mirrors", type=Path)
    measuring = commands.add_parser("measure")
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("--db", type=Path, required=True)
    args, rest = parser.parse_known_args()
    if args.command == "measure":
        return measure(args.folder, args.db, rest)
    shop = Workshop(packages=args.packages or args.folder.parent / "packages", mirrors=args.mirrors)
    print(f"{make(args.folder, shop, args.kinds)} pages in {args.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
