"""What a page consists of."""

import pytest
from made_up_page import ROWS, contents

from ngo.common.registry import UserError
from ngo.report.contents import content, text


def test_sections_and_the_claims_that_an_entry_shows(tmp_path):
    made = contents(tmp_path)
    assert [name for name, _ in made.sections()] == ["5.6 Stability", "Supplement", "Claims"]
    shown = {entry.name: [each.claim for each in made.decided_by(entry)] for entry in made.shown}
    assert shown == {"fig8": ["order", "open"], "tableS1": ["same", "15"], "claims": ["later"]}
    assert sum(map(len, shown.values())) == len(ROWS)


def test_an_absent_file_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"report: '.*a.png' does not exist"):
        content(tmp_path / "a.png")
    (tmp_path / "a.md").write_text("γ", encoding="utf-8")
    assert text(tmp_path / "a.md") == "γ"
