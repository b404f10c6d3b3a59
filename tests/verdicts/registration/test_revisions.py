"""Registration from the revisions of a repository."""

import subprocess
from datetime import UTC, datetime

import pytest

from verdicts.registration.registered import read_registration
from verdicts.registration.registering import register
from verdicts.registration.revisions import from_history, revision
from verdicts.registry import UserError

CLAIM = "place: here, says: {says}, kind: order, from: t, quantity: {quantity}, above: {above}"
DATES = [datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 9)]


def git(folder, *arguments, date=DATES[0]):
    names = ("AUTHOR", "COMMITTER")
    environment = {f"GIT_{name}_{what}": "x@x" for name in names for what in ("NAME", "EMAIL")}
    environment |= {f"GIT_{name}_DATE": date.isoformat() for name in names}
    environment |= {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder)}
    subprocess.run(["git", "-C", folder, *arguments], check=True, env=environment, timeout=60)


def commit(path, text, day):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    git(path.parent, "add", "-A")
    git(path.parent, "commit", "-qm", f"day {day}", date=DATES[day])


def claims(**entries):
    lines = [
        f"  {id}: {{{CLAIM.format(**{'says': 'x', 'quantity': 'level', 'above': 0, **each})}}}"
        for id, each in entries.items()
    ]
    return "\n".join(["claims:", *lines]) + "\n"


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q")
    old = tmp_path / "old/claims.yaml"
    commit(old, claims(a={}), 0)
    commit(old, claims(a={"says": "y"}, b={"quantity": "no_longer"}), 1)
    commit(old, "claims: [", 2)
    commit(old, claims(a={"says": "y"}, b={"quantity": "level"}), 3)
    (tmp_path / "new").mkdir()
    git(tmp_path, "mv", "old/claims.yaml", "new/own claims.yaml")
    path = tmp_path / "new/own claims.yaml"
    git(tmp_path, "commit", "-qm", "moved", date=DATES[4])
    commit(path, claims(a={"above": 1}, b={"quantity": "level"}), 5)
    return path


def dates(registration):
    return {id: [each.date for each in entries] for id, entries in registration.items()}


def test_each_form_has_its_first_date_through_moves_and_files_that_are_not_read(repository):
    found = from_history(repository)
    assert dates(found) == {"a": [DATES[0], DATES[5]], "b": [DATES[1], DATES[3]]}
    assert found["a"][1].revision == revision(repository.parent)


def test_former_terms_are_those_of_today(repository):
    def present(content):
        each = content["claims"]
        for claim in each.values():
            claim["quantity"] = claim["quantity"].replace("no_longer", "level")
        return content

    assert dates(from_history(repository, present))["b"] == [DATES[1]]


def test_printed_numbers_are_those_of_the_revision(tmp_path):
    git(tmp_path, "init", "-q")
    path, numbers = tmp_path / "claims.yaml", tmp_path / "n.csv"
    text = claims(a={"above": 0}).replace("kind: order", "kind: number").replace(
        "above: 0", "margin: 1, paper: {file: n.csv, column: x, where: {p: 1}}"
    )  # fmt: skip
    numbers.write_text("p,x\n1,5\n")
    commit(path, text, 0)
    numbers.write_text("p,x\n1,6\n")
    commit(path, text + "\n", 1)
    assert dates(from_history(path)) == {"a": DATES[:2]}


def test_history_comes_first_and_what_is_not_committed_last(repository):
    repository.write_text(claims(a={"above": 2}))
    before = datetime.now(UTC).replace(microsecond=0)
    out, number, new = register(repository, history=True)
    assert (out.name, number, new) == ("own claims.registered.yaml", 1, 1)
    found = read_registration(out)
    assert dates(found)["a"][:2] == [DATES[0], DATES[5]]
    assert found["a"][2].date >= before
    assert found["a"][2].revision == revision(repository.parent)
    assert register(repository)[2] == 0
    with pytest.raises(UserError, match="history: .* is there; remove it"):
        register(repository, history=True)


def test_without_a_repository_there_is_no_revision(tmp_path):
    (tmp_path / "claims.yaml").write_text(claims(a={}))
    assert revision(tmp_path) == ""
    with pytest.raises(UserError, match="^git: ") as error:
        from_history(tmp_path / "claims.yaml")
    assert "\n" not in str(error.value)
    git(tmp_path, "init", "-q")
    commit(tmp_path / "other.yaml", "x", 0)
    git(tmp_path, "rm", "-q", "--cached", "claims.yaml")
    git(tmp_path, "commit", "-qm", "gone", "--amend")
    with pytest.raises(UserError, match="history: git has no revision of '.*claims.yaml'"):
        from_history(tmp_path / "claims.yaml")
