"""Verdicts as text, Markdown, JSON and a page.

Each function takes the rows of verdicts.
"""

from verdicts.render.as_json import as_json
from verdicts.render.markdown import as_markdown
from verdicts.render.page import as_page
from verdicts.render.text import as_text

__all__ = ["as_json", "as_markdown", "as_page", "as_text"]
