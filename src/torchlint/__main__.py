"""`python -m torchlint`."""

import os
import sys

# Python puts the working folder first. It may be a tree that somebody else wrote, with a click.py in it.
if sys.path[:1] in ([""], [os.getcwd()]):
    del sys.path[0]

from torchlint.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
