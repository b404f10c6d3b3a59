import numpy as np
import pytest
from small_theory import small_parts


def test_the_closed_form_is_the_sum(tmp_path):
    sums = small_parts(tmp_path)["sums"]
    first = sums[(sums["T"] == 1) & (sums["a"] == 16)].iloc[0]
    assert (first["summed"], first["closed"]) == pytest.approx((256, 256))
    assert np.allclose(sums["closed"], sums["summed"], rtol=1e-12)
    assert (sums["least"] < sums["summed"]).all()
