import numpy as np
from small_theory import small_parts


def test_methods_of_a_seed_share_the_problem_and_differ_in_v(tmp_path):
    races = small_parts(tmp_path)["races"]
    first = races[races["T"] == 1].pivot(index="seed", columns="method", values="gap")
    assert first.shape == (3, 4)
    assert np.allclose(first.max(axis=1), first.min(axis=1))
    last = races[races["T"] == 200].pivot(index="seed", columns="method", values="sync_term")
    assert (last["centralized"] < 1e-20).all()
    assert (last["synchronized"] < last["ngo"]).all()
    assert (last["ngo"] < last["gossip"]).all()
