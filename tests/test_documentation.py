"""The pages of the site: files that they name exist, and broken links are found."""

import re

from code_blocks import PAGES, text_of
from conftest import REPOSITORY

FOLDERS = "config|docs|examples|papers|src|tests|tools|workflow"
OWN = {  # the reader makes them
    "papers/tracking/config.yaml", "papers/tracking/claims.yaml", "workflow/envs/ngo.sif",
    "config/mine.yaml", "config/mine-claims.yaml",
}  # fmt: skip


def test_files_of_the_repository_are_there():
    for page in PAGES:
        named = re.findall(rf"`((?:{FOLDERS})/[\w./-]+\.\w+)`", text_of(page))
        linked = re.findall(r"\]\(([^)#<:\s]+)(?:#[^)]*)?\)", text_of(page))
        at = (REPOSITORY / page).parent
        absent = [path for path in named if not (REPOSITORY / path).exists()]
        absent += [path for path in linked if not (at / path).exists()]
        made = ("docs/_build/", "made/")  # by make docs, which checks their links
        assert {path for path in absent if not path.startswith(made)} <= OWN, page


def test_links_of_a_site(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import check_links as tool

    (tmp_path / "a.html").write_text(
        '<h1 id="top"><a href="b.html#there">b</a><a href="#top">top</a>'
        '<img src="data:image/png;base64,AA=="><a href="https://example.org/">other</a>'
    )
    (tmp_path / "b.html").write_text('<p id="there"><a href="a.html">a</a>')
    assert tool.broken(tmp_path) == []
    (tmp_path / "b.html").write_text(
        '<a href="a.html#gone">a</a><a href="c.html">c</a>'
        '<link rel="stylesheet" href="https://fonts.example.org/x.css">'
    )
    assert sorted(tool.broken(tmp_path)) == [
        "a.html: b.html#there",
        "b.html: a.html#gone",
        "b.html: c.html",
        "b.html: loads https://fonts.example.org/x.css",
    ]
