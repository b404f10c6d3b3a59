from small_theory import asked, holds, small_rows


def test_every_start_ends_at_its_mean():
    means = small_rows("means")
    assert (means.groupby(["topology", "n"])["draw"].count() == 2).all()
    assert means["measured"].max() < 1e-10
    assert means["measured"].max() > 0  # an integration, and no identity


def test_another_end_is_seen():
    assert holds("theory_continuous_mean", "means")
    rows = [{"draw": 0, "measured": 1e-13}, {"draw": 0, "measured": 1e-9}]
    found = asked("theory_continuous_mean", "means", rows)
    assert found["met"].tolist() == [True, False]
