"""The pages of the site: files that they name exist, and broken links are found."""

import ast
import re
import sys
from importlib.util import find_spec
from inspect import ismodule

from code_blocks import PAGES, text_of
from conftest import REPOSITORY
from running import finished, start

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


def names_of(module):
    """The names that a module defines, uses or imports, those of classes and arguments too."""
    nodes = list(ast.walk(ast.parse(module.read_text())))
    return {
        getattr(node, key, None)
        for node in nodes
        for key in ("name", "asname", "id", "attr", "arg")
    }


def test_what_a_docstring_names_is_there():
    """``module.name`` is a name of a module of ours, a file, or a name in the same module."""
    source = REPOSITORY / "src"
    modules = {}  # by each end of their dotted names
    for path in source.rglob("*.py"):
        parts = path.relative_to(source).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        for k in range(len(parts)):
            modules.setdefault(".".join(parts[k:]), []).append(path)
    known = {path: names_of(path) for paths in modules.values() for path in paths}
    for path, names in known.items():
        for named in re.findall(r"``([a-z_]\w*(?:\.\w+)+)(?:\(.*?\))?``", path.read_text()):
            *place, name = named.split(".")
            at = modules.get(".".join(place), [])
            there = named in modules or any(name in known[module] for module in at)
            is_file = name in ("c", "json", "md", "parquet", "pt", "py", "txt", "yaml")
            own = place[0] in names or find_spec(place[0]) or named == "of.gamma"  # a claim's key
            assert there or is_file or own, f"{path}: {named}"


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


def test_formulas_of_docstrings_are_set_as_formulas(monkeypatch):
    monkeypatch.syspath_prepend(REPOSITORY / "docs")
    from formulas import with_formulas

    made = {
        "x_i ← x_i + γ Σ_j W_ij φ(x̄)^(t+1/2).": (
            r"$x_i \leftarrow x_i + γ \sum_j W_{ij} φ(\bar{x})^{t+1/2}$."
        ),
        "With τ = ``delay``, a step ends.": "With $τ$ = `delay`, a step ends.",
        "D² is 2 steps, (0, 1), of a worker": "D² is 2 steps, (0, 1), of a worker",
        "a graph (the ring, for n = 2)": "a graph (the ring, for $n = 2$)",
    }
    for text, page in made.items():
        assert re.sub(r" +(?=[_ ])", "", with_formulas(text)) == page


def test_the_page_of_the_api_has_the_public_modules_of_the_judge():
    import verdicts

    page = (REPOSITORY / "docs/api.md").read_text(encoding="utf-8")
    listed = page.partition(".. autosummary::")[2].partition("```")[0].split()
    assert listed == [name for name in verdicts.__all__ if ismodule(getattr(verdicts, name))]


def test_the_page_of_quantities_has_those_of_both_packages():
    code = "import site_pages; print(site_pages.quantities())"
    printed = finished(start([sys.executable, "-c", code], cwd=REPOSITORY / "tools"))
    assert {"## `difference`", "## `slope_on_V`"} <= set(printed.splitlines())
