"""``python -m tformer``: see `tformer.cli`."""

import sys

from tformer.cli import main

if __name__ == "__main__":
    sys.exit(main())
