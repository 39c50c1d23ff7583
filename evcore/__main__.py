"""`python -m evcore`."""

import sys

from evcore.cli import main

if __name__ == "__main__":
    sys.exit(main())
