from importlib.metadata import version as installed_version

project = "fewer"
author = "The fewer developers"
copyright = author
version = release = installed_version("fewer")

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
exclude_patterns = ["_build", "_templates", "requirements.txt"]
templates_path = ["_templates"]

# README, changelog and contributing guide are written for the repository; their links to files
# that are no pages stay plain text here.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]

# The API pages follow fewer.__all__.
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings have the types
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"fewer {release}"
