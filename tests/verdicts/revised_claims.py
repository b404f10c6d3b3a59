"""A claims file in a repository, with several revisions."""

import subprocess
from datetime import UTC, datetime

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


def revised(tmp_path):
    """The path of a claims file whose repository has revisions of it, in another place too."""
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
