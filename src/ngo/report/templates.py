"""Templates, filled in: all text is escaped for the format of the page, HTML or Markdown."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ngo.printing import inert
from verdicts.report import escaped

#: The templates, the style sheets and the scripts.
FOLDER = Path(__file__).with_name("page")


def rendered(template: str, **values: object) -> str:
    """The page of a template; ``Markup`` is printed as it is. Markdown has single empty lines."""
    markdown = ".md." in template
    page = _environment(markdown=markdown).get_template(template).render(values)
    return (re.sub(r"\n{3,}", "\n\n", page) if markdown else page).rstrip("\n") + "\n"


def file(name: str) -> Markup:
    """A style sheet or a script."""
    return Markup((FOLDER / name).read_text(encoding="utf-8"))


@cache
def _environment(*, markdown: bool) -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_for_markdown if markdown else None,
    )
    made.filters["slug"] = slug
    made.filters["inert"] = lambda text: Markup(inert(text, cell=False))
    return made


def _for_markdown(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(escaped(str(value)))


def slug(name: str) -> str:
    """A verdict as the name of a CSS class."""
    return name.replace(" ", "-")


#: The parts of the script, in order.
SCRIPTS = ("mathematics", "setting", "drawing", "page", "input")


def play_page() -> str:
    """The page. The fragment of its address is a setting: ``play.html#graph=ring&p=0.5``."""
    script = Markup("\n").join(file(f"play/{name}.js") for name in SCRIPTS)
    return rendered("play/play.html.jinja", style=file("play/play.css"), script=script)


if __name__ == "__main__":
    print(play_page(), end="")
