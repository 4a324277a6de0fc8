"""Throwaway plugins: a distribution as pip would leave it, from source text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_plugin(
    root: Path,
    name: str,
    sources: str | Mapping[str, str],
    groups: Mapping[str, Mapping[str, str]],
) -> Path:
    """Write a distribution called ``name`` and return the folder to import from.

    ``sources`` is the text of its one module, or of each by name; ``groups`` maps
    ``tasks``, ``methods``, … to entry points.
    """
    info = root / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        f"[dglbench.{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
        for group, entries in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    modules = {name.replace("-", "_"): sources} if isinstance(sources, str) else sources
    for module, source in modules.items():
        (root / f"{module}.py").write_text(source)
    return root
