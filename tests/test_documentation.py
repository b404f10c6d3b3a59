"""The pages of the site: files that they name exist, and broken links are found."""

import json
import os
import re
import runpy

import pytest
from code_blocks import PAGES, text_of
from conftest import REPOSITORY
from py_mini_racer import MiniRacer

from ngo.gossip.method import NUMBERS
from ngo.gossip.mixing_matrix import MixingMatrix


@pytest.mark.parametrize("page", PAGES)
def test_files_of_the_repository_are_there(page):
    folders = "config|docs|examples|papers|src|tests|tools|workflow"
    named = re.findall(rf"`((?:{folders})/[\w./-]+\.\w+)`", text_of(page))
    linked = re.findall(r"\]\(([^)#<:\s]+)(?:#[^)]*)?\)", text_of(page))
    at = (REPOSITORY / page).parent
    absent = [path for path in named if not (REPOSITORY / path).exists()]
    absent += [path for path in linked if not (at / path).exists()]
    own = {f"papers/tracking/{name}.yaml" for name in ("config", "claims")}  # the reader makes them
    own |= {"workflow/envs/ngo.sif", "config/mine.yaml"}
    own |= {"config/mine-claims.yaml"}
    made = ("docs/_build/", "made/")  # by make docs, which checks their links
    assert {path for path in absent if not path.startswith(made)} <= own


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import check_links

    return check_links


def test_links_of_a_site(tool, tmp_path):
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


def test_an_anchor_that_is_a_setting_of_the_playground_is_no_place_in_it(tool, tmp_path):
    (tmp_path / "play.html").write_text("<p>")
    (tmp_path / "a.html").write_text(
        '<a href="play.html#p=0.5&amp;n=2">a</a><a href="play.html#p">b</a>'
    )
    assert tool.broken(tmp_path) == ["a.html: play.html#p"]


@pytest.fixture
def site(monkeypatch):
    """The names of docs/conf.py."""
    monkeypatch.setenv("PATH", os.environ["PATH"])  # it is changed
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    return runpy.run_path(str(REPOSITORY / "docs/conf.py"))


def test_links_to_files_of_html_keep_their_settings(site):
    docs = REPOSITORY / "docs"
    text = "[try it](../play.html#n=2&p=0.5) [all](../board.html) [b](../board.md#papers)"
    assert site["links_of_the_site"](text, docs / "results", docs / "results") == (
        '<a href="../play.html#n=2&amp;p=0.5">try it</a> <a href="../board_file.html">all</a> '
        "[b](../board.md#papers)"
    )


def test_no_page_of_the_site_has_the_address_of_a_file_that_is_beside_it(site):
    made = {f"{page.removeprefix('docs/').removesuffix('.md')}.html" for page in PAGES}
    assert "board.html" in made
    assert made.isdisjoint([*site["html_extra_path"], site["BOARD"]])


def test_the_navigation_has_headings_of_a_level_and_links_with_a_text(site):
    context = {
        "toc": '<a href="#chatter"><a id="topic-chatter"></a>Chatter</a>',
        "furo_navigation_tree": '<p class="caption" role="heading">Start</p>',
    }
    site["navigable"](None, "page", "page.html", context, None)
    assert context["toc"] == '<a href="#chatter">Chatter</a>'
    assert 'role="heading" aria-level="2"' in context["furo_navigation_tree"]


def test_boxes_that_scroll_are_reached_by_the_tab_key_and_others_are_not(site):
    engine = MiniRacer()
    engine.eval("""
      const box = (inside, outside) => ({
        scrollWidth: inside, clientWidth: outside, tabIndex: -1,
        removeAttribute() { this.tabIndex = -1; },
      });
      const boxes = [box(900, 400), box(400, 400)], done = {};
      const addEventListener = (name, work) => { done[name] = work; };
      const document = { querySelectorAll: () => boxes, addEventListener };
      const window = { addEventListener };
    """)
    assert site["html_js_files"] == ["site.js"]
    engine.eval((REPOSITORY / "docs/_static/site.js").read_text(encoding="utf-8"))
    told = "JSON.stringify(boxes.map((each) => each.tabIndex))"
    engine.eval("done.load()")
    assert json.loads(engine.eval(told)) == [0, -1]
    engine.eval("boxes[0].clientWidth = 1000; done.resize()")
    assert json.loads(engine.eval(told)) == [-1, -1]


def test_metrics_columns_and_answers_are_those_of_the_package(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "tools")
    import site_pages

    from ngo.training.spec import FIELDS

    columns = site_pages.columns().splitlines()
    assert "| `V` | float | The synchronization index. |" in columns
    assert "| `step` | int | The number of steps taken. |" in columns
    meanings = [line.split(" | ")[2] for line in columns if line.startswith("| `")]
    assert len(set(meanings)) == len(meanings)
    assert all(f"## `{name}`" in site_pages.fields() for name in FIELDS)
    values = site_pages.quantities().partition("## `")[0]
    assert "| `workers_accuracy` | points | The column workers_accuracy_mean at the end" in values
    assert "| `{steps_to_loss: x}` | steps | " in values
    assert "](results/claims.md#" in site_pages.answers()
    assert "](docs/" not in site_pages.answers()


def test_attributes_are_documented_as_they_are_written(site):
    """Napoleon takes the text before the first colon of a sentence for a type."""
    assert "sphinx.ext.autodoc" in site["extensions"]
    assert "sphinx.ext.napoleon" not in site["extensions"]


def test_the_page_of_methods_names_what_a_step_has():
    text = (REPOSITORY / "docs/how_to/method.md").read_text(encoding="utf-8")
    W = MixingMatrix.identity(3)
    for name in set(re.findall(r"`W\.(\w+)", text)):
        assert hasattr(W, name)
    (entries,) = re.findall(r"An entry of `sends` is (.*?); `\(\)`", text, flags=re.DOTALL)
    assert set(re.findall(r'`"(.*?)"`', entries)) == set(NUMBERS)
