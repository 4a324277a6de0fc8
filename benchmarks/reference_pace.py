"""Write the seconds an epoch takes in the reference runs, for ``dglbench sweep --plan``.

    python benchmarks/reference_pace.py            # from results/reference, into the package
    python benchmarks/reference_pace.py --check    # say whether the package's table is theirs

The median over all runs of a setting, solver family and method, on one thread.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import tomlkit

import dglbench.sweep.plan.reference_pace as pace
from dglbench.packs.reading import PackRuns
from dglbench.report.style.palette import method_order

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "results" / "reference"


def table(reference: Path) -> str:
    """Return the table as TOML."""
    found: dict[tuple[str, int, int, int, str], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    packs = [PackRuns(path) for path in sorted(reference.glob("*.dglpack"))]
    for record in (pack.record(name) for pack in packs for name in pack.names):
        identity, settings = record.identity, record.identity.settings
        if record.state != "done" or record.summary is None:
            continue
        instances = settings["train"] + settings["val"] + settings["test"]
        size = record.summary.groups * record.summary.options
        key = (identity.task, settings["n"], size, instances, identity.solver)
        per_epoch = record.status.wall_s / max(record.summary.epochs_run, 1)
        found[key][identity.method].append(per_epoch)
    document = tomlkit.document()
    document.add(tomlkit.comment("Written by benchmarks/reference_pace.py; wall seconds an epoch."))
    entries = tomlkit.aot()
    for (task, n, size, instances, solver), methods in sorted(found.items()):
        seconds = {
            method: float(f"{statistics.median(methods[method]):.3g}")
            for method in sorted(methods, key=method_order)
        }
        entry = tomlkit.table()
        setting = {"task": task, "n": n, "size": size, "instances": instances, "solver": solver}
        entry.update({**setting, "seconds": seconds})
        entries.append(entry)
    document.add("pace", entries)
    return tomlkit.dumps(document)


def main() -> int:
    """Write or check the package's table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare and write nothing")
    wanted = parser.parse_args()
    file, text = Path(str(pace.__file__)).parent / pace.FILE, table(REFERENCE)
    if wanted.check:
        same = file.is_file() and file.read_text("utf-8") == text
        print(f"{file.name} is {'that' if same else 'not that'} of {REFERENCE.name}")
        return int(not same)
    file.write_text(text, "utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
