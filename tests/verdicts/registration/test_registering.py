"""Registering the claims of a file."""

from datetime import UTC, datetime

import pytest
from revised_claims import DATES, claims, dates, revised

from verdicts.registration.registered import read_registration
from verdicts.registration.registering import register
from verdicts.registration.revisions import revision
from verdicts.registry import UserError


def test_history_comes_first_and_what_is_not_committed_last(tmp_path):
    path = revised(tmp_path)
    path.write_text(claims(a={"above": 2}))
    before = datetime.now(UTC).replace(microsecond=0)
    out, number, new = register(path, history=True)
    assert (out.name, number, new) == ("own claims.registered.yaml", 1, 1)
    found = read_registration(out)
    assert dates(found)["a"][:2] == [DATES[0], DATES[5]]
    assert found["a"][2].date >= before
    assert found["a"][2].revision == revision(path.parent)
    assert register(path)[2] == 0
    with pytest.raises(UserError, match="history: .* is there; remove it"):
        register(path, history=True)
