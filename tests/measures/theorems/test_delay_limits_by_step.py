from small_theory import small_parts


def test_shorter_rounds_come_closer_to_the_limit(tmp_path):
    limits = small_parts(tmp_path)["limits"]
    off = (limits["tolerated"] - limits["limit"]).abs()
    assert (off <= 2 * limits["step"]).all()
    worst = off.groupby(limits["step"]).max()
    assert worst.index.tolist() == [0.05, 0.1, 0.2]
    assert worst.iloc[0] < worst.iloc[-1]
