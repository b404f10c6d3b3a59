"""The tables of the board, from small archives."""

import math

import pandas as pd
import pytest
import yaml
from conftest import REPOSITORY
from made_up_page import CELLS, read_board
from small_archives import CLAIMS

from ngo.pipeline import shipped_board as board
from ngo.pipeline.archives.archive import read_archive
from ngo.pipeline.paths import shipped_metrics
from ngo.report.board import as_csv
from verdicts.members import sha256, write_archive


@pytest.fixture
def repository(own, tmp_path):
    """A folder that ships the archive of the campaign."""
    (tmp_path / "results/archive").mkdir(parents=True)
    write_archive(tmp_path / "results/archive/test-metrics.tar", own)
    return tmp_path


def made(repository):
    told = []
    found = board.shipped_board(repository, told.append)
    assert told[-1] == "results/archive/test-metrics.tar: 3 claims"
    return found


def test_a_paper_and_each_claim_have_a_row_and_without_an_archive_it_is_not_run(repository):
    found = made(repository)
    (paper,) = found.papers
    archive = repository / paper["archive"]
    assert (paper["tier"], paper["page"], paper["older"]) == ("test", "papers/test.md", False)
    assert paper["sha256"] == sha256(archive.read_bytes())
    assert paper["runs"] == len(read_archive(archive).runs) == 4
    claims = {claim["claim"]: claim for claim in found.claims}
    assert set(claims) == set(CLAIMS)
    assert claims["ngo-wins"]["runs"] == 4
    assert claims["ngo-wins"]["scale"].startswith("digits; ")
    assert claims["ngo-wins"]["scale"].endswith(" steps")
    assert claims["gossip-learns"]["runs"] == 2
    assert [claims["time"][name] for name in ("verdict", "scale", "runs")] == ["not run", "", 0]
    assert made(repository).files() == found.files()
    folder = repository / "papers/other"
    folder.mkdir(parents=True)
    paper = {"name": "other", "title": "Other", "authors": "A", "address": "", "claim": "So."}
    (folder / "config.yaml").write_text(yaml.safe_dump({"tier": "other", "paper": paper}))
    *_, other = made(repository).papers
    assert [other[k] for k in ("title", "page", "archive", "runs")] == ["Other", "", "", 0]


def test_the_table_of_methods_in_settings_is_made_of_the_figures_numbers():
    """A missing number is empty or NaN, a whole one has no point, and six digits are kept."""
    table = pd.DataFrame(CELLS)
    table["liars"] = table["liars"].astype(float)
    assert as_csv(board.cells_of(table)) == as_csv(CELLS)
    (cell,) = board.cells_of(table.iloc[:1].assign(estimate=math.pi, low=math.nan))
    assert cell["estimate"] == 3.14159
    assert math.isnan(cell["low"])


def test_the_board_of_the_repository_is_of_its_archives():
    """``make verify-shipped`` makes its verdicts again."""
    archives = {tier: path.read_bytes() for tier, path in shipped_metrics(REPOSITORY).items()}
    papers = read_board(REPOSITORY / "docs/board").papers
    known = {paper["tier"]: paper["sha256"] for paper in papers if paper["archive"]}
    assert known == {tier: sha256(content) for tier, content in archives.items()}, "run make board"
