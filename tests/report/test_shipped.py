"""The shipped campaign in short."""

import json

import pytest
from made_up_page import contents

from ngo.common.registry import UserError
from ngo.report.shipped import as_shipped, read_shipped


def test_it_has_every_answer_and_every_claim_that_was_run(tmp_path):
    made = contents(tmp_path)
    (tmp_path / "shipped.json").write_text(as_shipped(made), encoding="utf-8")
    found = read_shipped(tmp_path / "shipped.json")
    assert (found.paper, found.tier) == ("own", "made-up")
    assert found.answers == {each.question: each.sentence for each in made.findings.answers}
    assert found.verdicts == {
        row.claim: (row.verdict, row.measured) for row in made.rows if row.verdict != "not run"
    }


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"answers": []}, "is no file of shipped verdicts"),
        ({"verdicts": {"a": "holds"}}, "is no file of shipped verdicts"),
        ({"verdicts": {"a": ["is", "1"]}}, "has the unknown verdict 'is'"),
    ],
)
def test_another_file_is_one_line(tmp_path, changed, message):
    path = tmp_path / "shipped.json"
    path.write_text(json.dumps({**json.loads(as_shipped(contents(tmp_path))), **changed}))
    with pytest.raises(UserError, match=message):
        read_shipped(path)
    with pytest.raises(UserError, match="is no file of shipped verdicts"):
        read_shipped(tmp_path / "absent.json")
