"""Figure 6: consensus every few steps."""

import pytest
from figure_files import drawn, functions, numbers
from made_up import labels, line, metrics, panel, periods, run

from ngo.analysis.seed_means import part

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig6_has_all_couplings_in_one_panel_for_each_half():
    figure, _ = drawn("fig6", periods())
    noniid = panel(figure, "accuracy, non-iid (shards)")
    assert labels(noniid) == [
        "gossip, $H = 1$", "gossip, $H = 2$", "gossip, $H = 5$",
        "NGO, $H = 1$", "NGO, $H = 2$", "NGO, $H = 5$",
        "averaging, $H = 2$", "averaging, $H = 5$",
    ]  # fmt: skip
    assert line(noniid, "gossip, $H = 1$")[1] == pytest.approx([10, 70, 60])
    assert labels(panel(figure, "accuracy, iid")) == labels(noniid)
    assert not any("averaging" in name for name in labels(panel(figure, "(b) synchronization")))


def test_couplings_are_named_whatever_the_method():
    rows = metrics(
        run(0.5, method="gossip"),
        run(0.5, method="gossip", gamma=1),
        run(0.5, method="ngo", gamma=1),
        run(0.5, method="local_sgd", p=1.0, local_steps=5),
        run(0.5, method="local_sgd", p=0.9, local_steps=5),
        run(0.5, method="local_sgd", p=1.0, gamma=1, local_steps=5),
        run(0.5, method="centralized", local_steps=None),
    )
    found = functions("fig6").with_coupling(rows).drop_duplicates("run")
    assert found["coupling"].tolist() == [
        "gossip", "averaging", "ngo, whole steps", "gossip", "ngo", "averaging", "centralized",
    ]  # fmt: skip
    assert found["local_steps"].tolist() == [1, 1, 1, 5, 5, 5, 1]


def test_accuracy_at_the_end_and_at_equal_bytes():
    shown = numbers("fig6", periods())
    key = ["partition", "coupling", "local_steps", "value"]
    ends, equal = (part(shown, name).set_index(key)["mean"] for name in ("ends", "equal"))
    assert ends["iid", "gossip", 1, "accuracy"] == pytest.approx(60)
    # The budget is a fifth of what gossip sends: two fifths of the way from 10 to 70 %.
    assert equal["iid", "gossip", 1, "accuracy"] == pytest.approx(34)
    assert equal["iid", "averaging", 5, "accuracy"] == pytest.approx(40)
    assert len(part(shown, "course")) == 2 * 8 * 2 * 3
