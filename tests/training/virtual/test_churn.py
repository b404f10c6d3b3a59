import math

import pytest
from runs import digits_run

from ngo.common.registry import UserError
from ngo.training.virtual.churn import CHURN, Presence


def churned(tmp_path, rows):
    path = tmp_path / "churn.csv"
    path.write_text("time,worker,event\n" + "\n".join(rows))
    spec = digits_run(clock="asynchronous", churn="churn_trace", churn_file=str(path))
    return CHURN[spec.churn].of(spec)


def test_changes_of_each_worker(tmp_path):
    rows = ["1,0,leaves", "1,3,leaves", "2,0,comes", "4,0,leaves"]
    assert churned(tmp_path, rows) == [[1, 2, 4], [], [], [1]]


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        (["1,0,comes"], "row 1: worker 0 comes, and it is there already"),
        (["1,0,leaves", "1,0,leaves"], "row 2: worker 0 leaves, and it is away already"),
        (["1,0,goes"], "row 1: event 'goes' is neither leaves nor comes"),
    ],
)
def test_a_wrong_event_is_refused(tmp_path, rows, wrong):
    with pytest.raises(UserError, match=wrong):
        churned(tmp_path, rows)


def test_presence():
    presence = Presence([[], [1.0, 2.0, 4.0]])
    assert not presence.always
    assert Presence([[], []]).always
    assert [presence.away(1, time) for time in (0.9, 1.0, 1.9, 2.0, 5.0)] == [0, 1, 1, 0, 1]
    assert not presence.away(0, 1.5)


def test_a_step_begins_again_when_its_worker_comes_back():
    presence = Presence([[1.0, 2.0, 4.0], [0.0, 3.0]])
    assert presence.end(0, 0.5, 0.5) == 1.0  # it ends as the worker leaves
    assert presence.end(0, 0.5, 0.75) == 2.75
    assert presence.end(0, 1.5, 0.5) == 2.5
    assert presence.end(0, 0.5, 3.0) == math.inf
    assert presence.end(0, 5.0, 0.1) == math.inf
    assert presence.end(1, 0.0, 0.5) == 3.5


@pytest.mark.parametrize("seconds", [0.0, 1e-20, math.inf, math.nan])
@pytest.mark.parametrize("changes", [[], [50.0, 60.0]])
def test_time_never_stands_still(changes, seconds):
    with pytest.raises(UserError, match="^speed: the step of worker 0 at second 10 takes"):
        Presence([changes]).end(0, 10.0, seconds)
