from small_theory import small_parts


def test_every_start_ends_at_its_mean(tmp_path):
    means = small_parts(tmp_path)["means"]
    assert (means.groupby(["topology", "n"])["draw"].count() == 2).all()
    assert means["measured"].max() < 1e-10
    assert means["measured"].max() > 0  # an integration, and no identity
