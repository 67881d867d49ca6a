"""python -m torchsan"""

import sys

from torchsan.run.cli import main

if __name__ == "__main__":
    sys.exit(main())
