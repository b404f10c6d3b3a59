"""Tables as a self-contained page of HTML, for the report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from html.parser import HTMLParser

from tabulate import tabulate

from ngo.common.registry import UserError

STYLE = """\
body {font-family: sans-serif; margin: 2em; line-height: 1.4}
table {border-collapse: collapse; margin: 1em 0; font-size: 90%}
caption {text-align: left}
th, td {padding: 0.2em 0.8em; text-align: left; vertical-align: top}
td:not(:last-child) {white-space: nowrap}
thead {border-top: 2px solid; border-bottom: 1px solid}
tbody {border-bottom: 2px solid}
"""


def page(caption: str, tables: Mapping[str, object]) -> str:
    """A page with ``caption`` above ``tables``, which map headings (may be empty) to tables.

    A table is a data frame, or a list of mappings from column to text. Text is escaped. Each table
    has one caption: its heading, or else the page's.
    """
    parts = [f"<p>{escape(caption)}</p>"] if all(tables) else []
    for heading, rows in tables.items():
        html = tabulate(rows, "keys", tablefmt="html", showindex=False, disable_numparse=True)
        html = re.sub(r"<th(?=[ >])", '<th scope="col"', html)
        told = escape(heading or caption)
        parts.append(html.replace("<table>", f"<table>\n<caption>{told}</caption>", 1))
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(caption)}'
        f"</title>\n<style>\n{STYLE}</style>\n<body>\n{body}\n</body>\n</html>\n"
    )


def body(html: str) -> str:
    """What is between the body tags of a page that ``page`` made.

    Raises a UserError for a page that has anything but plain tables.
    """
    inside = html.partition("<body>\n")[2].rpartition("\n</body>")[0]
    checked = _PlainTables()
    checked.feed(inside)
    checked.close()
    return inside


class _PlainTables(HTMLParser):
    """Raises a UserError for what ``page`` does not write."""

    TAGS = ("p", "table", "caption", "thead", "tbody", "tr", "th", "td")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        plain = all(re.fullmatch(r"style=text-align: \w+;|scope=col", f"{k}={v}") for k, v in attrs)
        if tag not in self.TAGS or not plain:
            raise _not_a_table(tag)

    def handle_comment(self, data: str) -> None:
        raise _not_a_table("!--")

    def handle_decl(self, decl: str) -> None:
        raise _not_a_table("!")

    def handle_pi(self, data: str) -> None:
        raise _not_a_table("?")


def _not_a_table(tag: str) -> UserError:
    return UserError(f"report: a saved table has HTML of another kind, <{tag[:40]}>.")
