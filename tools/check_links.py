"""Check the links of a built site, offline: ``python tools/check_links.py docs/_build/html``.

Whatever a page links to inside the site must exist, with its anchor. An anchor with a = is exempt:
it is a setting of the playground. No page may load anything from another host.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "img": "src", "script": "src", "iframe": "src", "link": "href"}


class Page(HTMLParser):
    """The anchors of a page, and its links; True beside one means that the page loads it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, given: list[tuple[str, str | None]]) -> None:
        """Note a tag's anchors and addresses."""
        values = {name: value or "" for name, value in given}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if (name := LINKS.get(tag)) in values:
            self.links.append((values[name], tag != "a"))


def broken(site: Path) -> list[str]:
    """A line for each broken link, and for each thing that a page loads from another host."""
    files = [path.resolve() for path in site.rglob("*.html")]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    lines = []
    for path, page in pages.items():
        for address, loaded in page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                lines += [f"{path.name}: loads {address}"] * (loaded and parts.scheme != "data")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = "" if "=" in parts.fragment else unquote(parts.fragment)
            lacking = anchor and target in pages and anchor not in pages[target].anchors
            if lacking or not target.exists():
                lines.append(f"{path.relative_to(site.resolve())}: {address}")
    return lines


if __name__ == "__main__":
    sys.exit("\n".join(broken(Path(sys.argv[1]))) or 0)
