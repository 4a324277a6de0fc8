"""Many runs in one command: planned, run anywhere, resumed by the same command.

`wishes` reads what is asked for, `resolved` leaves nothing open, `plan` looks at what
is there, `search` decides which configurations run and which is chosen, `driver`
has them run by one of the `executors`, and writes everything itself.
"""

from dglbench.sweep.plan import Plan, make_plan, plan_sweep
from dglbench.sweep.request import PRESETS, Wishes, nested_assignments, read_wishes
from dglbench.sweep.resolve import Sweep, resolve_sweep

__all__ = [
    "PRESETS",
    "Plan",
    "Sweep",
    "Wishes",
    "make_plan",
    "nested_assignments",
    "plan_sweep",
    "read_wishes",
    "resolve_sweep",
]
