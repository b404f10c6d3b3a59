"""Quantities from a user's own file."""

import pytest
from foreign import CLAIMS, write

from verdicts import extensions
from verdicts.cli import main
from verdicts.quantity_registry import QUANTITIES
from verdicts.registry import UserError

MINE = """
import verdicts

@verdicts.quantity("median_score", unit="points")
def median_score(rows):
    return rows.groupby("seed")["score"].median()
"""

DIFFERENCE = "difference, with: {of: {method: C}, minus: {method: A}, value: score}, near: 0"


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    yield str(tmp_path / "mine.py")
    QUANTITIES.pop("median_score", None)
    QUANTITIES.definitions.pop("median_score", None)


def test_a_claim_is_about_a_quantity_of_ones_own(tmp_path, mine, capsys):
    assert DIFFERENCE in CLAIMS
    claims = write(tmp_path, CLAIMS.replace(DIFFERENCE, "median_score, near: 70"))
    arguments = ["check", str(claims), "--tables", str(tmp_path)]
    assert main(arguments) == 2
    assert "'median_score' is unknown" in capsys.readouterr().err
    assert main([*arguments, "--import", mine]) == 0
    assert "holds      same" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["no_such_module", "no/such.py", "broken.py"])
def test_what_cannot_be_imported_is_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(UserError, match=rf"^import: '{name}' can't be imported: [^\n]*$"):
        extensions.load(name)
