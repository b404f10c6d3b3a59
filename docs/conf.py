"""The documentation site: Sphinx reads this file (make docs)."""

import os
import re
import sys
import tomllib
from html import escape
from pathlib import Path
from textwrap import shorten

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

DOCS = Path(__file__).parent
REPOSITORY = DOCS.parent
sys.path[:0] = [str(DOCS), str(REPOSITORY / "tools")]

import reference  # noqa: E402
import site_pages  # noqa: E402

project = "ngo"
author = "The ngo developers"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "_templates"]

html_theme = "furo"
html_title = "ngo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/favicon.svg"
html_math_renderer = "mathml"  # in the page: nothing is loaded, and no script is run
# Where the site is, if that is known: addresses in previews, and of what the page 404 loads.
ABOUT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
html_baseurl = ABOUT.get("urls", {}).get("Documentation", "")
PREVIEW = "_images/fig3.png"  # a picture of the first page
LETTERS = 200  # of a description, at most
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = False
html_extra_path = ["play.html"]
# The board as one file: board.html is the page of board.md.
BOARD = "board_file.html"
html_show_sourcelink = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "dollarmath"]
# Pages on GitHub have links to anchors in HTML; tools/check_links.py checks them on the built site.
suppress_warnings = ["myst.xref_missing", "myst.header"]

autodoc_default_options = {"members": True}
autodoc_typehints = "description"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True

nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True
nb_merge_streams = True  # a word that was written in two pieces is one
# Cells with commands use the ngo of this environment.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
nb_execution_cache_path = str(DOCS / "_build/.notebooks")

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s:<>#]+)(#[^)\s]*)?\)")


def links_of_the_site(text: str, folder: Path, page: Path) -> str:
    """A page's text with its links, relative to ``folder``, as the page of the site needs them.

    A file of the repository that has a page on the site is that page. Any other file that is not in
    docs/ is named without a link: the site has no copy of it.
    """

    def link(found: re.Match) -> str:
        words, path, anchor = found.groups(default="")
        words = LINK.sub(link, words)  # a picture that is a link
        target = (folder / path).resolve()
        named = {REPOSITORY / name: DOCS / made for name, made in site_pages.COPIES.items()}
        target = named.get(target, target)
        if target == DOCS / "board.html":
            target = DOCS / BOARD
        if not target.is_relative_to(DOCS):
            return words
        if target.suffix == ".html":  # a page that the site has as it is
            address = escape(os.path.relpath(target, page) + anchor)
            return f'<a href="{address}">{words}</a>'
        return f"[{words}]({os.path.relpath(target, page)}{anchor})"

    return LINK.sub(link, text)


def read(app: object, name: str, text: list[str]) -> None:
    """Change the links of a page that Sphinx has read."""
    page = DOCS / name
    origins = {Path(made).with_suffix(""): origin for origin, made in site_pages.COPIES.items()}
    origin = origins.get(Path(name))
    folder = (REPOSITORY / origin).parent if origin else page.parent
    one_line = re.sub(r"!\[[^\]]*\]", lambda alt: " ".join(alt[0].split()), text[0])
    text[0] = links_of_the_site(one_line, folder, page.parent)


def commands(app: object, page: nodes.document) -> None:
    """A cell of a notebook with commands is shown and copied as they are, without ``%%bash``."""
    for cell in page.findall(nodes.literal_block):
        if cell.astext().startswith("%%bash\n"):
            text = cell.astext().removeprefix("%%bash\n")
            cell.replace_self(nodes.literal_block(text, text, language="bash"))


def mathml(page: object, formula: nodes.Element) -> None:
    """A formula as MathML, which browsers set themselves."""
    block = isinstance(formula, nodes.math_block)
    page.body.append(tex2mathml(formula.astext(), as_block=block))
    raise nodes.SkipNode


def docstring(app: object, what: str, name: str, each: object, options: object, text: list) -> None:
    """A modulus in a docstring is no substitution of reStructuredText."""
    text[:] = [line.replace("|", "\\|") for line in text]


def navigable(app: object, page: str, template: str, context: dict, tree: object) -> None:
    """Headings of the navigation have a level, and a link in it has no anchor of its heading.

    The page says what it is about, by its first paragraph, and has a picture for previews.
    """
    first = next(tree.findall(nodes.paragraph), None) if tree else None
    about = escape(shorten(first.astext() if first else html_title, LETTERS, placeholder=" …"))
    said = {"description": about, "og:description": about, "og:image": html_baseurl + PREVIEW}
    tags = [f'<meta name="{n}" property="{n}" content="{text}">' for n, text in said.items()]
    if page == "404" and html_baseurl:  # it is shown at any address
        tags.insert(0, f'<base href="{html_baseurl}">')
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)
    for part in ("toc", "furo_navigation_tree"):
        text = context.get(part) or ""
        text = re.sub(r'<a id="[^"]*"></a>', "", text)
        context[part] = text.replace('role="heading"', 'role="heading" aria-level="2"')


def built(app: object, failed: Exception | None) -> None:
    """Write the board's file, whose links to pages on GitHub become links to pages of the site."""
    if failed is None and app.builder.format == "html":
        text = (DOCS / "board.html").read_text(encoding="utf-8")
        text = re.sub(r'(href="[^":#]+)\.md(["#])', r"\1.html\2", text)
        text = re.sub(r'<a href="\.\./results/[^"]*">(.*?)</a>', r"\1", text)
        Path(app.outdir, BOARD).write_text(text, encoding="utf-8")


def setup(app: object) -> None:
    """Write the pages that the package's declarations make, before Sphinx looks for pages."""
    site_pages.write(DOCS, reference.pages())
    app.add_html_math_renderer("mathml", (mathml, None), (mathml, None))
    app.connect("source-read", read)
    app.connect("doctree-read", commands)
    app.connect("html-page-context", navigable, priority=900)  # after the theme
    app.connect("build-finished", built)
    app.connect("autodoc-process-docstring", docstring)
