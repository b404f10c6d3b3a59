"""Verdicts as text, Markdown, JSON, a page, nanopublications and an RO-Crate.

Each function takes the rows of verdicts.
"""

from verdicts.render.as_json import as_json
from verdicts.render.forrt import About
from verdicts.render.markdown import as_markdown
from verdicts.render.nanopub import as_nanopubs
from verdicts.render.page import as_page
from verdicts.render.ro_crate import as_ro_crate
from verdicts.render.text import as_text

__all__ = ["About", "as_json", "as_markdown", "as_nanopubs", "as_page", "as_ro_crate", "as_text"]
