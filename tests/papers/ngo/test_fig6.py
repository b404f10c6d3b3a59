"""Figure 6: consensus every few steps."""

import pandas as pd
import pytest
from figure_files import drawn, made, opened
from made_up import SEEDS, labels, line, metrics, panel, periods, run

from ngo.analysis.curves import part
from ngo.common.registry import UserError

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


def test_fig6_shows_the_end_beside_equal_bytes():
    figure, shown = drawn("fig6", periods())
    lines = panel(figure, "(c) accuracy by $H$").containers
    end, equal = lines[0].lines[0], lines[3].lines[0]  # gossip's
    assert (end.get_linestyle(), equal.get_linestyle()) == ("-", ":")
    assert list(end.get_ydata()) == pytest.approx([60, 40, 40])
    # After two fifths of an interval, after two intervals at a half, and at the end.
    assert list(equal.get_ydata()) == pytest.approx([34, 42, 40])
    assert set(shown["part"]) == {"course", "ends", "equal"}


def test_fig6_draws_methods_without_a_period_too():
    given = ({"method": "centralized"}, {"method": "gossip"}, {"method": "delayed", "p": 1.0})
    runs = [run(0.5, **how, seed=s) for how in given for s in SEEDS]
    runs += [run(0.5, method="local_sgd", p=1.0, local_steps=5, seed=s) for s in SEEDS]
    figure, _ = drawn("fig6", metrics(*runs))
    assert labels(figure.axes[0]) == [
        "centralized", "gossip, $H = 1$", "gossip, $H = 5$", "delayed, $H = 1$",
    ]  # fmt: skip


def test_the_figure_is_made_from_a_file(tmp_path):
    output = made("fig6", tmp_path, metrics=periods())
    assert output.picture == tmp_path / "figures/fig6.png"
    shown = pd.read_csv(tmp_path / "figures/fig6.csv")
    assert set(shown["tier"]) == {"test"}


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
    found = opened("fig6").module.with_coupling(rows).drop_duplicates("run")
    assert found["coupling"].tolist() == [
        "gossip", "averaging", "ngo, whole steps", "gossip", "ngo", "averaging", "centralized",
    ]  # fmt: skip
    assert found["local_steps"].tolist() == [1, 1, 1, 5, 5, 5, 1]


def test_accuracy_at_the_end_and_at_equal_bytes():
    shown = opened("fig6").module.numbers(periods())
    key = ["partition", "coupling", "local_steps", "value"]
    ends, equal = (part(shown, name).set_index(key)["mean"] for name in ("ends", "equal"))
    assert ends["iid", "gossip", 1, "accuracy"] == pytest.approx(60)
    # The budget is a fifth of what gossip sends: two fifths of the way from 10 to 70 %.
    assert equal["iid", "gossip", 1, "accuracy"] == pytest.approx(34)
    assert equal["iid", "averaging", 5, "accuracy"] == pytest.approx(40)
    assert len(part(shown, "course")) == 2 * 8 * 2 * 3


def test_runs_that_differ_otherwise_are_no_seeds():
    twice = metrics(run(0.5, method="ngo"), run(0.5, method="ngo", workers=4))
    with pytest.raises(UserError, match="gamma, local_steps and seed alone"):
        opened("fig6").module.numbers(twice)
