"""Runs the command as a module: `python -m ocrbatch`."""

import os
import sys

from . import main  # no package of ours is imported before the look for foreign ones

if __name__ == "__main__":
    # `python -m` puts the working directory first: in a clone, its packages would hide those that are installed.
    if not sys.flags.safe_path and sys.path[0] == os.getcwd() and sys.path[0] not in sys.path[1:]:
        del sys.path[0]
    sys.exit(main())
