"""Runs the command as a module: `python -m ocrbatch`."""

import sys

from . import main  # no package of ours is imported before the look for foreign ones

if __name__ == "__main__":
    sys.exit(main())
