"""``python -m dglbench`` is ``dglbench``."""

import sys

from dglbench.cli import main

sys.exit(main())
