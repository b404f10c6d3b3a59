import numpy as np
from small_theory import small_parts


def test_every_graph_has_its_draws_and_the_sharp_time_is_twice_the_printed(tmp_path):
    bounds = small_parts(tmp_path)["bounds"]
    cells = bounds[["topology", "n"]].drop_duplicates()
    assert cells["n"].tolist().count(2) == 1  # all topologies of two workers are the same
    assert {"ring", "complete"} <= set(cells["topology"])
    assert (bounds.groupby(["topology", "n", "p"])["draw"].count() == 2).all()
    assert np.allclose(bounds["sharp"], 2 * bounds["paper"])
    assert (bounds["measured"] <= bounds["sharp"] * (1 + 1e-5)).all()
