"""Fill the tables of README and docs from the reference results, and draw their figures.

    python docs/fill.py             # the tables
    python docs/fill.py --figures   # the figures too

A figure stands below a comment with the command that draws it, a table below a comment with the
command that prints it and above ``<!-- end -->``. What follows ``#`` in the comment is the heading
of the part that is wanted, or ``table`` for no notes; without it the page has the whole. The text
is not filled in: tests/test_reference.py holds its percentages to the tables.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from dglbench.cli import main

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_FIGURE = re.compile(r"<!-- (dglbench report [^\n]+ --figure [^\n]+?) -->")
_TABLE = re.compile(
    r"<!-- (dglbench report (?:(?!--figure)[^\n])+?) -->\n(.*?)\n<!-- end -->", re.DOTALL
)


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
    if part == "table":
        text = "\n".join(line for line in text.splitlines() if line[:1] == "|")
    elif part:
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


def _draw(command: str) -> Path:
    """Draw a figure, with a palette: a third of the bytes, and the eye sees no difference."""
    words = shlex.split(command)[1:]
    _run([*words, "--quiet"])
    file = ROOT / words[words.index("--out") + 1]
    with Image.open(file) as picture:
        picture.convert("RGB").quantize(256).save(file, optimize=True)
    return file


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
        for command in _FIGURE.findall(before) if "--figures" in sys.argv else []:
            print(_draw(command))
        after = fill(before)
        if after != before:
            page.write_text(after, "utf-8")
            print(page.relative_to(ROOT))
