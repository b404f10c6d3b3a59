"""Verdicts in FORRT's terms."""

import tomllib

import pytest
from conftest import REPOSITORY
from made_up_page import row

from verdicts.registry import UserError
from verdicts.render.forrt import (
    CONFIDENCE,
    RELATION,
    STATUS,
    About,
    mapping_table,
    outcomes,
)
from verdicts.statistics.judgement import OVER_UNIVERSES, VERDICTS

# What the template of Science Live allows, and the relations that its tools expect.
STATUSES = {"Validated", "PartiallySupported", "Contradicted", "Inconclusive", "NotTested"}
LEVELS = {"VeryHighConfidence", "HighConfidence", "Moderate", "LowConfidence", "VeryLowConfidence"}
EXPECTED = {"Validated": "confirms", "PartiallySupported": "qualifies", "Contradicted": "disputes"}


def test_every_verdict_has_terms_of_the_vocabulary():
    assert {*VERDICTS, *OVER_UNIVERSES} < {*STATUS}
    assert set(STATUS.values()) == set(CONFIDENCE) == STATUSES
    assert set(CONFIDENCE.values()) <= LEVELS
    assert RELATION == EXPECTED


def test_an_outcome_keeps_the_verdict_and_what_limits_it():
    (found,) = outcomes([row("a"), row("a", cell="ring", verdict="fails")])
    assert (found.status, found.relation, found.confidence) == (
        "Validated", "confirms", "HighConfidence"
    )  # fmt: skip
    assert found.conclusion == "Verdict: holds. Claim (Table 1): Statement of a"
    assert found.evidence.startswith("4.12 points; expected above 0; margin 0.5")
    assert found.limitations == ""
    (open_,) = outcomes([row("a", verdict="undecided", reason="too few", registered="before")])
    assert (open_.status, open_.relation) == ("Inconclusive", "")
    assert open_.limitations.startswith("too few; ")
    assert open_.limitations.endswith("registered before its first run")


def test_an_effect_below_the_margin_is_partial_support():
    both, contrary = outcomes(
        [row("a", below_margin=True), row("b", verdict="fails", below_margin=True)]
    )
    assert (both.status, both.relation) == ("PartiallySupported", "qualifies")
    assert both.verdict == "holds, and the effect is smaller than the margin"
    assert (contrary.status, contrary.relation) == ("Contradicted", "disputes")
    assert "fails, and the effect is smaller than the margin" in contrary.conclusion


def test_the_page_shows_the_mapping():
    page = (REPOSITORY / "docs/verdicts.md").read_text(encoding="utf-8")
    for line in mapping_table():
        assert any(
            [cell.strip() for cell in shown.split("|")[1:-1]] == list(line.values())
            for shown in page.splitlines()
        )


@pytest.mark.parametrize("name", ["paper", "repository", "license"])
@pytest.mark.parametrize(
    "value", ["here", "https://a b", "https://a>.", "file:///etc", "https://a\n"]
)
def test_an_address_is_checked(name, value):
    with pytest.raises(UserError, match=f"^{name}: .*is not an address"):
        About(**{name: value})


def test_the_package_of_the_judge_has_all_its_folders():
    project = tomllib.loads((REPOSITORY / "src/verdicts/pyproject.toml").read_text())
    folders = {path.parent.name for path in REPOSITORY.glob("src/verdicts/*/__init__.py")}
    packages = set(project["tool"]["setuptools"]["packages"])
    assert packages == {"verdicts", *(f"verdicts.{name}" for name in folders)}
