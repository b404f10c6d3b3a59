"""Figure 5: random graphs."""

import pytest
from figure_files import drawn, numbers
from made_up import line, panel, random_graphs

from ngo.analysis.seed_means import part

pytestmark = [pytest.mark.usefixtures("house_style"), pytest.mark.filterwarnings("error")]


def test_fig5_shows_the_edge_probability_nearest_to_the_papers_and_the_budget():
    figure, shown = drawn("fig5", random_graphs())
    assert panel(figure, "accuracy, $u = 0.5$")
    ends = panel(figure, "(b) at the end")
    assert [label.get_text() for label in ends.get_xticklabels()] == ["0.2\n(20)", "0.5\n(20)"]
    assert line(ends, "centralized")[1] == [pytest.approx(70)] * 2
    assert shown[shown["method"] == "centralized"]["value"].nunique() == 5
    assert set(shown["part"]) == {"course", "ends", "equal"}


def test_at_equal_bytes_a_run_that_sends_more_is_shown_earlier():
    runs = random_graphs()
    dense = runs["u"] == 0.5
    runs.loc[dense, "bytes_sent"] *= 2
    figure, _ = drawn("fig5", runs)
    assert line(panel(figure, "(c) at equal bytes"), "gossip")[1] == pytest.approx([50, 60])


def test_V_is_its_mean_over_training_beside_the_course():
    _, shown = drawn("fig5", random_graphs())
    found = {name: part(shown, name) for name in ("course", "ends", "equal")}
    assert all(set(table["value"]) >= {"accuracy"} for table in found.values())
    ends, equal = (found[name].query("value == 'V_mean'") for name in ("ends", "equal"))
    V = ends[ends["method"].eq("ngo")].set_index("topology")["mean"]
    assert V["ring"] == pytest.approx(12)  # of 12 and 12: the start does not count
    assert len(equal) == len(ends)
    assert "V_mean" not in set(found["course"]["value"])


def test_a_fixed_graph_has_its_share_of_all_edges():
    ends = part(numbers("fig5", random_graphs()), "ends")
    shares = ends.drop_duplicates(["topology", "u"]).set_index("topology")["share"]
    assert shares["ring"] == pytest.approx(20 / 90)
    assert shares["random"].tolist() == [0.2, 0.5]
    edges = ends[(ends["value"] == "edges") & (ends["topology"] == "ring")]["mean"]
    assert edges.tolist() == pytest.approx([10, 10])


def test_the_budget_is_the_number_of_models_sent_in_a_step():
    ends = part(numbers("fig5", random_graphs()), "ends")
    assert ends.groupby("u")["budget"].first().to_dict() == pytest.approx({0.2: 20, 0.5: 20})
