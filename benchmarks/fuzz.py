"""Try command lines and damaged files at random, and print those that end badly.

    python benchmarks/fuzz.py --cases 10000 --seed 7
    python benchmarks/fuzz.py --seed 7 --only 4711      # one case again, with all it said

Exit code 1 if any ended with a traceback, with "this is a bug in dglbench", with an exit
code other than 0, 2 and 130 (or 1 where a run failed), or not at all.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from fuzz_cases import described
from fuzz_runner import build_world, built_once, judge, run_case


def main() -> int:
    """Run the cases asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", type=int, help="run this case alone and show what it said")
    wanted = parser.parse_args()
    codes: Counter[str] = Counter()
    findings, slow, began = 0, [(0.0, "")], time.process_time()
    with tempfile.TemporaryDirectory() as folder, built_once():
        world, scratch = Path(folder) / "world", Path(folder) / "scratch"
        world.mkdir()
        build_world(world)
        last = wanted.first + wanted.cases
        numbers = range(wanted.first, last) if wanted.only is None else [wanted.only]
        for number in numbers:
            start = time.process_time()
            case, outcome = run_case(world, scratch, wanted.seed, number)
            slow.append((time.process_time() - start, f"{number}: {described(case)}"))
            codes[str(outcome.code)] += 1
            if wanted.only is not None:
                print(described(case), outcome.out, outcome.err, sep="\n")
            finding = judge(number, case, outcome)
            if finding:
                findings += 1
                print(
                    f"\n{number}: {finding.why}\n  {finding.case!a}\n  {finding.err!a}", flush=True
                )
    count = ", ".join(f"{codes[code]} with exit code {code}" for code in sorted(codes))
    print(f"\n{len(numbers)} cases in {time.process_time() - began:.0f} s of CPU time: {count}")
    for seconds, what in sorted(slow, reverse=True)[:5]:
        print(f"  {seconds:.1f} s: {what!a}")
    print(f"{findings} ended badly")
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
