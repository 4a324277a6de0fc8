"""Many runs in one command: planned, run anywhere, resumed by the same command.

`asked` reads what is wanted, `resolved` leaves nothing open, `plan` looks at what
is there, `search` decides which configurations run and which is chosen, `driver`
runs them `inprocess` or on a `cluster`, and writes everything itself.
"""

from dglbench.sweep.asked import PRESETS, Layer, nested_assignments, read_layer
from dglbench.sweep.plan import Plan, make_plan, plan_sweep
from dglbench.sweep.resolved import Sweep, resolve_sweep

__all__ = [
    "PRESETS",
    "Layer",
    "Plan",
    "Sweep",
    "make_plan",
    "nested_assignments",
    "plan_sweep",
    "read_layer",
    "resolve_sweep",
]
