"""The documents say what the code does."""

from pathlib import Path

import pytest

from dglbench.options import describe
from dglbench.plugins import METHODS, plugins
from dglbench.runs import schemas

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("table", schemas.TABLES)
def test_every_logged_column_is_explained(table):
    text = (DOCS / "logs.md").read_text("utf-8")
    for field in schemas.TABLES[table]:
        meaning = field.metadata[b"help"].decode().replace("|", "\\|")
        assert f"| `{field.name}` | {field.type} | {meaning} |" in text


def test_every_method_and_option_is_documented():
    text = (DOCS / "methods.md").read_text("utf-8")
    for plugin in plugins(METHODS):
        if plugin.origin.startswith("dglbench "):
            assert f"`{plugin.name}`" in text
            assert all(info.name in text for info in describe(plugin.target.Options))
