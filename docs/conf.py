"""Sphinx configuration; build with `make docs`."""

from winnow._version import __version__

project = "Winnow"
release = __version__
version = ".".join(__version__.split(".")[:2])

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_generated"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"

html_theme = "furo"
html_title = f"Winnow {release}"
html_show_copyright = False
html_show_sphinx = False
