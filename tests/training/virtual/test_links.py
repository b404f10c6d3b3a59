import pytest
from runs import digits_run

from ngo.training.virtual.links import LINKS


def link(**values):
    spec = digits_run(**{"clock": "waiting", "workers": 40, **values})
    return LINKS[spec.links].of(spec)


def test_uniform_links():
    assert link()(0, 1, 0.0) == (0.0, 0.0)
    assert link(latency=0.5, bandwidth=1e6)(3, 1, 7.0) == (0.5, 1e-6)


def test_slow_links_are_a_share_and_the_same_in_both_directions():
    of = link(latency=0.5, bandwidth=100.0, slow_links=0.3, slow_link_factor=4.0)
    pairs = [(i, j) for i in range(40) for j in range(i)]
    costs = [of(i, j, 0.0) for i, j in pairs]
    assert set(costs) == {(0.5, 0.01), (2.0, 0.04)}
    assert costs == [of(j, i, 0.0) for i, j in pairs]
    assert costs.count((2.0, 0.04)) == pytest.approx(0.3 * 780, rel=0.2)
    assert link(latency=1.0, slow_links=1.0, slow_link_factor=2.0)(0, 1, 0.0) == (2.0, 0.0)


def test_a_trace_changes_a_link_from_a_time_on(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text(
        "time,sender,receiver,latency,bandwidth\n1,0,1,0.5,0\n2,0,1,0.25,10\n2,5,4,9,1\n"
    )
    of = link(links="link_trace", link_file=str(path), latency=0.1)
    assert [of(0, 1, time) for time in (0.9, 1.0, 2.0, 50.0)] == [
        (0.1, 0.0), (0.5, 0.0), (0.25, 0.1), (0.25, 0.1),
    ]  # fmt: skip
    assert of(1, 0, 5.0) == (0.1, 0.0)
    assert of(5, 4, 5.0) == (9.0, 1.0)
