"""Fill the tables of README and docs from the reference results.

    python docs/fill.py

A table stands below a comment with the command that prints it and above ``<!-- end -->``. What
follows ``#`` in the comment is the heading of the part that is wanted; without it the page has the
whole table and its notes. Figures of speech are not filled in: tests/test_reference.py holds the
percentages of the text to the tables.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

from dglbench.cli import main

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_TABLE = re.compile(r"<!-- (dglbench report [^\n]+?) -->\n(.*?)\n<!-- end -->", re.DOTALL)


def tables(text: str) -> dict[str, str]:
    """Return the tables of a page by their commands."""
    return {command: shown.strip() for command, shown in _TABLE.findall(text)}


def printed(command: str) -> str:
    """Return what a command prints, as Markdown."""
    words = shlex.split(command, comments=True)[1:]
    _, _, part = command.partition(" # ")
    if "--claims" in words:
        return _claims(json.loads(_run([*words, "--json"])))
    with tempfile.TemporaryDirectory() as folder:
        _run([*words, "--format", "md", "--out", folder, "--quiet"])
        (file,) = Path(folder).glob("*.md")
        text = file.read_text("utf-8").partition("\n")[2]
    if part:
        _, _, below = text.partition(f"### {part}\n")
        if not below:
            raise SystemExit(f"there is no part {part!r} in what this prints: {command}")
        text = "\n".join(
            line for line in below.partition("### ")[0].splitlines() if line[:1] == "|"
        )
    return re.sub(r"^### (.*)$", r"**\1**", text, flags=re.MULTILINE).strip()


def _run(words: list[str]) -> str:
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        if main(words):
            raise SystemExit(f"this failed: dglbench {shlex.join(words)}")
    return told.getvalue()


def _claims(document: dict[str, Any]) -> str:
    """List the verdicts; what nothing here is about is left out."""
    rows = [
        f"| {claim['statement']} | {claim['verdict']} | {claim['summary']} |"
        for claim in document["claims"]
        if any(finding["outcome"] != "absent" for finding in claim["findings"])
    ]
    return "\n".join(["| statement | verdict | settings |", "| --- | --- | --- |", *rows])


def fill(text: str) -> str:
    """Return a page with its tables made anew."""
    return _TABLE.sub(
        lambda found: f"<!-- {found[1]} -->\n\n{printed(found[1])}\n\n<!-- end -->", text
    )


if __name__ == "__main__":
    for page in PAGES:
        before = page.read_text("utf-8")
        after = fill(before)
        if after != before:
            page.write_text(after, "utf-8")
            print(page.relative_to(ROOT))
