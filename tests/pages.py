"""The one mechanism that runs README and docs: a page from top to bottom, as a reader would.

What a page shows is read by these rules:

- A block ``sh`` (or one without a language) holds commands, one a line (a line may go on after a
  backslash). Each is run, in the page's order, in a folder that starts with a reader's own arrays,
  mine.npz and new.npz. One that needs data of others is left out unless its variable names a copy.
- Whole commands in a sentence, `dglbench …`, are run as well. One that names a verb alone, or has
  a word in capitals (RUN, FOLDER) or an ellipsis, is a form: its verb and its options must exist.
- A block ``python`` or ``toml`` is the file that the sentence before it names in backquotes. Where
  none is named it is a script, run after the scripts before it if the page's test asks for it.
- A block ``text`` is part of what the command before it prints; ``console`` shows an example.

Commands are run as they stand or, by `reduced`, at a size that takes a second or two.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))

_PART = re.compile(r"^```(\w*)\n(.*?)^```$|`(dglbench [^`]+)`", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"`([\w-]+\.(?:py|toml))`")
_PLACE = re.compile(r"(?<![\w.-])[A-Z]{2,}|…|<")


class Part(NamedTuple):
    """A block of a page, or a command in a sentence."""

    kind: str
    """The block's language, or ``sentence``."""
    text: str
    file: str | None = None
    """What the sentence before the block calls it."""


def read(page: str) -> str:
    """Return the text of a page."""
    return (ROOT / page).read_text("utf-8")


def parts(page: str) -> Iterator[Part]:
    """Yield the blocks of a page and the commands in its sentences, in order."""
    text, start = read(page), 0
    for found in _PART.finditer(text):
        kind, block, sentence = found.groups()
        if sentence is not None:
            yield Part("sentence", " ".join(sentence.split()))
            continue
        kind = kind or ("sh" if block.startswith("dglbench ") else kind)
        before = text[start : found.start()].rstrip().rpartition("\n\n")[2]
        named = _FILE.findall(before)
        yield Part(kind, block, named[-1] if named and kind in ("python", "toml") else None)
        start = found.end()


def files(page: str) -> dict[str, str]:
    """Return the files that a page shows, by the names that it gives them."""
    return {part.file: part.text for part in parts(page) if part.file}


def lines(block: str) -> list[str]:
    """Return the commands of a block."""
    return [line for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def commands(page: str) -> list[list[str]]:
    """Return every whole command of a page, in words."""
    found = []
    for part in parts(page):
        if part.kind == "sh":
            found += [shlex.split(line, comments=True) for line in lines(part.text)]
        elif part.kind == "sentence" and not is_form(part.text):
            found.append(shlex.split(part.text))
    return [words for words in found if words]


def forms(page: str) -> list[list[str]]:
    """Return the commands of a page's sentences that leave something open."""
    return [
        part.text.split() for part in parts(page) if part.kind == "sentence" and is_form(part.text)
    ]


def is_form(text: str) -> bool:
    """Say whether a command in a sentence only names a verb, or leaves something open."""
    words = text.split()
    return bool(_PLACE.search(text)) or (len(words) == 2 and words[1] not in ("list", "--version"))


def with_globs(words: Sequence[str], folder: Path) -> list[str]:
    """Put what a shell would put in place of a word with a star."""
    found: list[str] = []
    for word in words:
        paths = sorted(folder.glob(word)) if "*" in word else []
        found += [str(path.relative_to(folder)) for path in paths] or [word]
    return found


def write_arrays(folder: Path) -> None:
    """Write the reader's own arrays: six jobs a day under two limits, and five days to come."""
    draws = np.random.default_rng(7)
    features, hours = draws.normal(size=(40, 6, 3)), draws.integers(1, 6, size=(2, 6))
    pay = 50 + features @ [9.0, -4.0, 6.0]
    np.savez(folder / "mine.npz", features=features, labels=pay, A=hours, b=0.4 * hours.sum(axis=1))
    np.savez(folder / "new.npz", features=draws.normal(size=(5, 6, 3)))


# How a command is made short: options that go (with their value), and options that come.
_DROPPED = {
    "sweep": ("--scheduler", "--tls-ca", "--tls-cert", "--tls-key", "--jobs", "--epochs"),
    "train": ("--epochs", "--repeats"),
    "fit": ("--minutes", "--runs", "--jobs"),
    "verify": ("--rerun",),
}
_AT_MOST_2 = ("--repeats", "--trials")
_ADDED = {"sweep": ("--epochs", "1"), "train": ("--epochs", "1"), "fit": ("--runs", "2")}
_SMALL = ("train=8", "val=4", "test=4")
_PUBLISHED = ("--methods", "least-squares", "--seeds", "0")
_COPIES = {
    "source=semo": "DGLBENCH_SEMO_FILE",
    "source=icon": "DGLBENCH_ICON_FILE",
    "cora": "DGLBENCH_CORA_FILE",
}


def without_its_data(words: Sequence[str]) -> bool:
    """Say whether a command needs data of others, and no copy is named by its variable."""
    return any(
        word.endswith(source) and name not in os.environ
        for word in words
        for source, name in _COPIES.items()
    )


def reduced(words: Sequence[str]) -> list[str]:
    """Return a command at a size that takes a second or two; what it asks for stays.

    One epoch; at most two repeats and two trials, of presets one; 8 training, 4 validation and
    4 test instances; of sweeps that name no task, matching-10; of published paths the first runs of
    least squares; `fit` makes two runs, `verify` one again; runs are made one at a time and here.
    What `--data` or a file brings keeps its size. Sweeps of real days, of
    published knapsacks and of other published methods are planned.
    """
    verb = words[1]
    if verb not in _DROPPED or "--plan" in words:
        return list(words)
    kept, given = [], iter(words)
    for word in given:
        if word in _DROPPED[verb]:
            next(given)
        else:
            kept += [word, min(next(given), "2", key=int)] if word in _AT_MOST_2 else [word]
    if verb == "verify":
        return [*kept, *(("--rerun", "1") if "--rerun" in words else ())]
    if verb == "sweep" and any(word.endswith(tuple(_COPIES)) for word in words):
        return [*words, "--plan"]
    if any(a == "--preset" and b.startswith("published") for a, b in pairwise(words)):
        whole = "batched" in words and "--methods" not in words
        return [*kept, *_PUBLISHED] if whole else [*words, "--plan"]
    kept += _ADDED[verb]
    if verb == "fit" or {"--data", "--config", "--like"} & {*words}:
        return kept
    if verb == "sweep" and "--tasks" not in words:
        kept += ["--tasks", "matching-10"]
    if "--preset" in words:
        kept += ["--repeats", "1"]
    return _without_sizes(kept) + [word for size in _SMALL for word in ("--set", size)]


def _without_sizes(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for word in words:
        if re.match(r"(train|val|test)=", word):
            kept.pop()
        else:
            kept.append(word)
    return kept
