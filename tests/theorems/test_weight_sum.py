import numpy as np
import pytest
from small_theory import asked, holds, small_rows


def test_the_closed_form_is_the_sum():
    sums = small_rows("sums")
    first = sums[(sums["T"] == 1) & (sums["a"] == 16)].iloc[0]
    assert (first["summed"], first["closed"]) == pytest.approx((256, 256))
    assert np.allclose(sums["closed"], sums["summed"], rtol=1e-12)
    assert (sums["least"] < sums["summed"]).all()


def test_a_wrong_sum_of_weights_is_seen():
    row = {"a": 16.0, "T": 10, "summed": 4245.0, "closed": 4245.0, "least": 333.3}
    assert asked("theory_weight_sum", "sums", [row])["met"].tolist() == [True, True]
    wrong = {**row, "closed": 4246.0, "least": 5000.0}
    assert asked("theory_weight_sum", "sums", [wrong])["met"].tolist() == [False, False]


def test_it_holds():
    assert holds("theory_weight_sum", "sums")
