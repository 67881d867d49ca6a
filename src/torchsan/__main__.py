"""python -m torchsan"""

import sys

from torchsan.cli import main

if __name__ == "__main__":
    sys.exit(main())
