"""The command line: one thin file per verb, loaded only when it is asked for."""

import gc
import os

# One thread a process, set before numpy is imported: timings of small solves are
# honest only if they do not depend on how many cores happen to be free, and
# starting a thread pool alone costs 0.1 s of CPU. Whoever sets these keeps theirs.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Imports make many objects and no garbage; looking for some costs a quarter of start-up.
gc.disable()

from dglbench.cli.app import main  # noqa: E402 - the environment comes first

gc.enable()

__all__ = ["main"]
