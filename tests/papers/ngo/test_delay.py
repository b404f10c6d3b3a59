"""The figure of late messages in training."""

import pandas as pd
import pytest
from figure_files import drawn, made, opened
from made_up import line, panel
from made_up_graphs import delays

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_both_couplings_stand_at_their_delays():
    figure, shown = drawn("delay", delays())
    accuracy = panel(figure, "digits, shards, ring")
    assert line(accuracy, "gossip") == ([0, 1, 5], pytest.approx([40, 40, 40]))
    assert line(accuracy, "NGO") == ([0, 1, 5], pytest.approx([40, 42, 50]))
    assert line(panel(figure, "paired by seed"), "NGO")[1] == pytest.approx([0, 2, 10], abs=1e-9)
    assert set(shown["value"]) == {"accuracy", "V", "difference"}


def test_each_topology_has_a_row():
    runs = delays()
    more = runs.assign(topology="complete", run=runs["run"] + "-complete")
    figure, _ = drawn("delay", pd.concat([runs, more], ignore_index=True))
    assert len(figure.axes) == 6
    assert panel(figure, "digits, shards, complete")


def test_the_figure_is_made_from_a_file(tmp_path):
    output = made("delay", tmp_path, metrics=delays())
    assert output.picture == tmp_path / "figures/delay.png"
    assert set(pd.read_csv(tmp_path / "figures/delay.csv")["tier"]) == {"test"}


def test_gossip_and_ngo_are_the_delay_zero():
    rows = opened("delay").module.with_delay(delays())
    cases = rows[["method", "p", "delay"]].drop_duplicates()
    assert sorted(cases.itertuples(index=False, name=None)) == [
        ("gossip", 1.0, 0), ("gossip", 1.0, 1), ("gossip", 1.0, 5),
        ("ngo", 0.9, 0), ("ngo", 0.9, 1), ("ngo", 0.9, 5),
    ]  # fmt: skip


def test_the_difference_is_paired_by_seed_at_each_delay():
    numbers = opened("delay").module.numbers
    found = numbers(delays())
    V = found[found["value"] == "V"].set_index(["method", "delay"])["mean"]
    assert V["ngo", 5] == pytest.approx(6)
    lost = numbers(delays(lambda seed: seed == 1)).query("value == 'difference'")
    assert lost.set_index("delay")["diverged"].to_dict() == {0: 0, 1: 1, 5: 1}
