"""Sphinx configuration; build with `make docs`."""

import sys
from pathlib import Path

from winnow import __version__

sys.path.insert(0, str(Path(__file__).parent))  # for tables_from_code

project = "Winnow"
release = __version__
version = ".".join(__version__.split(".")[:2])

extensions = ["myst_parser", "sphinx.ext.autodoc", "tables_from_code"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_generated"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["prompt.css"]
html_title = f"Winnow {release}"
html_show_copyright = False
html_show_sphinx = False
