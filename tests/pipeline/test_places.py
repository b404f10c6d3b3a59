"""Where results are."""

from ngo.pipeline import places


def test_a_tidy_table_is_in_the_folder_of_its_tier():
    assert places.tidy_table("demo", "fig4") == "results/demo/metrics/fig4.parquet"
