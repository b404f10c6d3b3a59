from small_theory import small_parts


def test_more_workers_have_a_smaller_gap(tmp_path):
    gaps = small_parts(tmp_path)["speedup"].pivot(index="seed", columns="n", values="gap")
    assert gaps.shape == (3, 2)
    assert (gaps[8] < gaps[2]).all()
    assert gaps[2].nunique() == 3
