"""Captions, the jobs of the page of results, and Snakemake's own report (make provenance).

tests/report/test_html_page.py and tests/pipeline/test_report_contents.py have the page.
"""

import base64
import json
import re
import shutil
from html.parser import HTMLParser

import pytest
from clone import Clone
from shipped_plans import plan_of_tier, planned

TARGETS = ("fig3", "assumptions")
SHOWN = {
    "results/test/figures/fig3.png": plan_of_tier().artefacts["fig3"].title,
    "results/test/tables/assumptions.html": "does not state",
}


def test_the_page_is_a_job_of_the_workflow_after_everything_on_it(made):
    shown = planned("config/demo.yaml").artefacts
    counts = made.planned("report", config="config/demo.yaml")
    assert {*shown, "assumptions", "report"} <= {name for name in counts if counts[name] == 1}


@pytest.fixture(scope="module")
def reported(made, tmp_path_factory):
    """A clone with Snakemake's report of a figure and of the assumptions, and the report."""
    clone = object.__new__(Clone)
    clone.root = shutil.copytree(made.root, tmp_path_factory.mktemp("reported") / "ngo")
    style = ("--report-stylesheet", "workflow/report/report.css")
    clone.snakemake(*TARGETS)
    clone.snakemake(*TARGETS, "--report", "results/test/provenance.html", *style)
    return clone, (clone.root / "results/test/provenance.html").read_text(encoding="utf-8")


class References(HTMLParser):
    """What a page's tags refer to; the text of scripts holds no tags."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("src", "href", "srcset")]


def test_the_report_is_one_file_with_the_artefacts_and_their_captions(reported):
    clone, page = reported
    assert all(value.startswith(("data:", "#")) for value in References(page).found)
    assert not re.search(r"@import|url\(['\"]?https?:", page)
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"']?https?:", page)
    results = json.loads(re.search(r"var results = (\{.*\});$", page, flags=re.MULTILINE)[1])
    assert set(results) == set(SHOWN)
    for name, title in SHOWN.items():
        kind, _, content = results[name]["data_uri"].partition(";base64,")
        assert base64.b64decode(content) == (clone.root / name).read_bytes()
        assert kind.startswith("data:image/png" if name.endswith("png") else "data:text/html")
        assert title in results[name]["labels"]["Figure or table"]
        assert "Tier test." in results[name]["caption"]
        assert not References(results[name]["caption"]).found
