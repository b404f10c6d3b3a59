"""Where results are."""

from ngo.pipeline import places


def test_a_tidy_table_is_in_the_folder_of_its_tier():
    assert places.tidy_table("demo", "fig4") == "results/demo/metrics/fig4.parquet"


def test_shipped_archives_of_metrics_are_found_by_tier(tmp_path):
    folder = tmp_path / "results/archive"
    assert places.shipped_metrics(tmp_path) == {}
    folder.mkdir(parents=True)
    for name in ("own-metrics.tar", "a_b-metrics.tar", "own-runs.tar"):
        (folder / name).touch()
    found = places.shipped_metrics(tmp_path)
    assert list(found) == ["a_b", "own"]
    assert found["own"] == folder / "own-metrics.tar"


def test_a_page_has_the_name_of_its_tier_but_for_the_first_and_the_board():
    assert [places.page_of(tier) for tier in ("laptop", "d2", "board")] == [
        "results",
        "d2",
        "settings",
    ]
