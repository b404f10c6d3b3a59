import pytest
from conftest import REPOSITORY

from ngo.pipeline.field_table import field_table, with_table
from ngo.training.spec import FIELDS

PAGE = (REPOSITORY / "config/README.md").read_text()


def test_the_page_is_up_to_date():
    assert with_table(PAGE, "fields", field_table()) == PAGE, "run make schema"


def test_every_field_has_a_row():
    _, _, *rows = field_table().splitlines()
    assert [row.split("`")[1] for row in rows] == list(FIELDS)
    (beta,) = (row for row in rows if row.startswith("| `beta` "))
    assert "above 0, at most 1,000,000" in beta
    assert "partition `dirichlet`" in beta
    assert "default" not in beta
    (share,) = (row for row in rows if row.startswith("| `kept_share` "))
    assert "at most 1; default `0.01` | compression" in share


def test_a_page_without_a_place_for_the_table_is_refused():
    with pytest.raises(ValueError, match="no one place for the table 'other'"):
        with_table(PAGE, "other", "")
