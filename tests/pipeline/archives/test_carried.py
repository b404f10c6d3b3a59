import json

from finished_runs import campaign, made_up_run

from ngo.pipeline.archives.carried import CARRIED, listed, rekeyed


def test_the_entries_of_all_records_are_listed_with_their_numbers_of_runs(tmp_path):
    runs = [made_up_run(spec) for spec in campaign(tmp_path)[1].runs.values()]
    assert listed(runs) == {}
    first = [rekeyed(run, {"from": run.about["code"], "to": "b", "how": "x"}) for run in runs]
    then = [rekeyed(first[0], {"from": "b", "to": "c", "how": "y"}), *first[1:]]
    assert then[0].about["code"] == "c"
    assert [entry["to"] for entry in then[0].record["carried"]] == ["b", "c"]
    assert runs[0].about["code"] != "b"
    entries = json.loads(listed(then)[CARRIED])
    assert sum(entry["runs"] for entry in entries if entry["to"] == "b") == len(runs)
    assert [entry["runs"] for entry in entries if entry["to"] == "c"] == [1]
    assert listed(then) == listed(then[::-1])
