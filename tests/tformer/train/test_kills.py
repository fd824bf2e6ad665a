"""A run that is killed at any moment goes on to the same numbers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).with_name("kill_runs.py")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_runs_killed_at_random_moments_end_as_if_they_had_not_been():
    """Three of them; `kill_runs.py --kills 60`, beside this file, tries more."""
    done = subprocess.run(
        [sys.executable, str(TOOL), "--kills", "3", "--steps", "16"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"3 kills of (\d) runs.*\n(?:.*\n)+.*: (\d) of \1\n", done.stdout)
    assert found[1] == found[2]
