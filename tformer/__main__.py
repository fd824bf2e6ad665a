"""``python -m tformer``: see `tformer.cli`."""

import os
import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # none is to be kept
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # until the command line can

from tformer.cli import main

if __name__ == "__main__":
    sys.exit(main())
