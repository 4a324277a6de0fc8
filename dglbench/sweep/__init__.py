"""Many runs in one command: planned, run anywhere, resumed by the same command.

In order: `request` reads what is asked for and leaves nothing open, `search` decides which
configurations run and which is chosen, `plan` looks at what is there already, `driver` has the
rest run by one of the `executors` and alone writes results. One run is a sweep of one.
"""

from dglbench.sweep.plan.plan import Plan, make_plan, plan_sweep
from dglbench.sweep.request.request import PRESETS, Request, nested_assignments, read_request
from dglbench.sweep.request.resolve import Sweep, resolve

__all__ = [
    "PRESETS",
    "Plan",
    "Request",
    "Sweep",
    "make_plan",
    "nested_assignments",
    "plan_sweep",
    "read_request",
    "resolve",
]
