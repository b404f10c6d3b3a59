"""The contents of a tier's page, from its files."""

import json
import shutil
from contextlib import chdir
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from cases import refused
from conftest import REPOSITORY
from made_up_page import ROWS, row
from markupsafe import escape
from PIL import Image
from shipped_plans import planned

from ngo.pipeline.archives.verify import bases
from ngo.pipeline.paths import CLAIMS, tier_folder
from ngo.pipeline.report_contents import report_contents, setting, shipped
from ngo.printing import as_markdown, page
from ngo.report.contents import SHIPPED, as_shipped
from ngo.report.pages import html_page, paper_markdown
from verdicts.registration import Entry, registration_path, written

CONFIGS = [Path("config/config.yaml"), Path("config/demo.yaml")]
DEMO = planned("config/demo.yaml")
SHOWN = DEMO.artefacts
RECORD = {"source": "abc", "device": "cpu", "wall_seconds": 1}
RECORD["started"] = "2026-11-22T12:00:00+00:00"


def write_table(stem: Path, text: str) -> None:
    printed = pd.DataFrame({"Cell": [text]})
    stem.with_name(f"{stem.name}.html").write_text(page(f"About {text}", {"": printed}))
    stem.with_name(f"{stem.name}.md").write_text(as_markdown(printed, f"About {text}"))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with small files in place of all of the demo's results."""
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(REPOSITORY / "config", root / "config")
    folder = root / tier_folder("demo")
    for name in ("tables", "figures"):
        (folder / name).mkdir(parents=True)
    for entry in SHOWN.values():
        if entry.figure:
            Image.new("RGB", (4, 2)).save(folder / f"figures/{entry.name}.png")
        for name in entry.tables:
            write_table(folder / f"tables/{name}", f"<{name}>")
    write_table(folder / "tables/assumptions", "lr")
    table = pd.DataFrame([vars(row) for row in ROWS])
    table.to_csv(folder / "tables/claims.csv", index=False)
    table[:0].to_csv(folder / "tables/claims_cells.csv", index=False)
    for run in DEMO.shown_runs:
        (root / "results/runs" / run).mkdir(parents=True)
        record = json.dumps({**RECORD, "id": run, "seed": 0})
        (root / f"results/runs/{run}/run.json").write_text(record)
    return root


@pytest.fixture(scope="module")
def contents(root):
    with chdir(root):
        return report_contents(CONFIGS)


@pytest.fixture
def made(contents, root, monkeypatch):
    """What the pages have, and they are read in the folder."""
    monkeypatch.chdir(root)
    return contents


def test_both_pages_have_every_artefact_and_every_claim(made):
    assert {entry.name for entry in made.shown} == set(SHOWN)
    assert made.shown[-1].name == made.ledger == CLAIMS
    assert made.tier == "demo"
    assert [row.claim for row in made.rows] == [row.claim for row in ROWS]
    for entry in made.shown:
        assert entry.about
        assert "Tier demo" not in entry.about
    html, markdown = html_page(made), paper_markdown(made, "own")
    for entry in SHOWN.values():
        for name in entry.tables:
            assert f"About &lt;{name}&gt;" in html
            assert (f"About &lt;{name}>" in markdown) == (entry.name != CLAIMS)
        if entry.figure:
            assert f"](../images/own/{entry.name}.png)" in markdown
        assert f"{escape(entry.title)} <a" in html
    assert html.count("<image") == sum(entry.figure for entry in SHOWN.values())
    for shown in ROWS:
        assert html.count(f'<tr id="{shown.anchor}"') == 1
        assert markdown.count(f'<a id="{shown.anchor}">') == 1


def test_a_claim_whose_table_is_left_out_is_shown_by_the_ledger(root, monkeypatch, tmp_path):
    monkeypatch.chdir(root)
    assert {row.shows for row in ROWS} == {"fig8", "tableS1", ""}
    overlay = tmp_path / "less.yaml"
    overlay.write_text("training: { fig8: null }\nspectra: { tableS1: null }\n")
    made = report_contents([*CONFIGS, overlay])
    assert {entry.name for entry in made.shown} == set(SHOWN) - {"fig8", "tableS1"}
    assert {made.target(row) for row in made.rows} == {CLAIMS}


def test_pages_say_which_claims_were_registered_before_runs(root, monkeypatch, tmp_path):
    shutil.copytree(root / "config", tmp_path / "config")
    (tmp_path / "results").symlink_to(root / "results")
    monkeypatch.chdir(tmp_path)
    groups = {group.claim: group for group in bases(DEMO.ledger.claims, DEMO, {})}
    trained = [name for name, group in groups.items() if group.runs]
    first, second, third = trained[:3]
    (measured, *_) = (name for name in groups if name not in trained)
    rows = [row(name, shows="") for name in (first, second, third, measured)]
    read = "ngo.pipeline.report_contents.read_rows"
    monkeypatch.setattr(read, lambda path: rows if path.stem == CLAIMS else [])
    early, late = (datetime(2026, 11, day, tzinfo=UTC) for day in (21, 23))
    forms = DEMO.ledger.forms
    entries = {id: [Entry(form, late, "")] for id, form in forms.items()}
    for id, form in ((first, forms[first]), (second, "0" * 64)):
        entries[id].insert(0, Entry(form, early, ""))
    file = registration_path(DEMO.claims)
    file.write_text(written(entries))
    made = report_contents(CONFIGS)
    assert [row.registered for row in made.rows] == ["before", "changed", "added", None]
    said = "Of 3 claims with dated runs, 1 was registered before their first run, 1 was changed"
    for text in (html_page(made), paper_markdown(made, "own")):
        assert said in text
        assert text.count("changed after its first run") == 1
        assert text.count("added after its first run") == 1
    file.unlink()
    assert {row.registered for row in report_contents(CONFIGS).rows} == {None}


def test_what_is_absent_is_one_line(root, tmp_path, monkeypatch):
    copy = shutil.copytree(root, tmp_path / "copy")
    monkeypatch.chdir(copy)
    (copy / "results/demo/figures/fig4.png").unlink()
    refused(r"report: '.*fig4.png' does not exist", html_page, report_contents(CONFIGS))
    run = next((copy / "results/runs").iterdir())
    (run / "run.json").unlink()
    refused(rf"report: '.*{run.name}/run.json' does not exist", report_contents, CONFIGS)
    (copy / "results/demo/tables/claims.csv").unlink()
    refused(r"claims: '.*claims.csv' does not exist", report_contents, CONFIGS)


def test_the_shipped_campaign_is_told_on_the_pages_of_other_tiers(made, tmp_path, monkeypatch):
    assert made.shipped is None
    monkeypatch.chdir(tmp_path)
    SHIPPED.parent.mkdir(parents=True)
    SHIPPED.write_text(as_shipped(replace(made, tier="laptop")), encoding="utf-8")
    assert shipped("demo", "ngo").verdicts
    assert shipped("laptop", "ngo") is shipped("demo", "d2") is None
    Path("archive.json").write_text("{}")  # the page of an archive has nothing else
    assert shipped("demo", "ngo") is None


def test_a_slot_has_the_value_of_the_claims_runs_or_of_one_side():
    runs = {
        f"r{n}": SimpleNamespace(dataset="mnist", partition="shards", workers=n, topology=graph)
        for n, graph in ((4, "ring"), (64, "random"))
    }
    sides = {"of": {"gamma": 0.4}, "minus": {"gamma": 0.2}}
    claim = SimpleNamespace(arguments=sides, expectation=SimpleNamespace(margin=0.5))
    planned = SimpleNamespace(runs=runs, ledger=SimpleNamespace(claims={"a": claim}))
    groups = [SimpleNamespace(claim="a", runs=[*runs])]
    names = ("workers", "data", "minus.gamma", "margin")
    told = [setting(planned, groups, "a", name) for name in names]
    assert told == ["4 to 64", "non-iid MNIST", "0.2", "0.5"]
    for name in ("topology", "gamma", "of.p", "to.gamma"):
        refused(f"'a' has no '{name}' that is one value", setting, planned, groups, "a", name)
