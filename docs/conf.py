"""The documentation site: `make docs` builds it into site/, to be read without a network."""

import re
from pathlib import Path
from typing import Any

project = "dglbench"
html_title = "dglbench"
extensions = ["myst_parser"]
html_theme = "furo"
# The pages are the Markdown files as they lie here; a link that leads nowhere is an error (-W).
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
# Neither a copy of the sources nor a line on who made the site.
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False


_FIGURES = Path(__file__).parent.parent / "results" / "reference" / "figures"
_MARK = re.compile(r"^<!-- picture: ([\w-]+) -->$", re.MULTILINE)


def _with_pictures(app: Any, page: str, source: list[str]) -> None:
    """Put a reference figure where a page marks its place, if there is one."""

    def picture(mark: re.Match[str]) -> str:
        there = (_FIGURES / f"{mark[1]}.png").is_file()
        return f"![{mark[1]}](../results/reference/figures/{mark[1]}.png)" if there else ""

    source[0] = _MARK.sub(picture, source[0])


def setup(app: Any) -> None:
    """Let pages name pictures that are drawn later than they are written."""
    app.connect("source-read", _with_pictures)
