"""The documentation site: `make docs` builds it into site/, to be read without a network."""

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
