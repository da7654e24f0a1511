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
autodoc_typehints = "none"  # the tables of options say what each takes
add_module_names = False
maximum_signature_line_length = 72
python_display_short_literal_types = True

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_js_files = ["copy.js"]
html_title = f"Winnow {release}"
html_theme_options = {"top_of_page_buttons": []}
html_show_copyright = False
html_show_sphinx = False
html_show_sourcelink = False
