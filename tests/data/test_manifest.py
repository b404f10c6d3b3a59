import json

from ngo.data.dataset import DATASETS
from ngo.data.described import manifest_text


def test_a_manifest_names_the_files_and_their_checksums():
    found = json.loads(manifest_text("mnist", 60_000))
    assert found["dataset"] == "mnist"
    assert found["train_samples"] == 60_000
    assert found["files"].keys() == DATASETS["mnist"].files.keys()
    assert "content" not in found  # only described data sets have a digest


def test_a_data_set_without_files_has_an_empty_list():
    assert manifest_text("digits", 1437).endswith('"files": {}\n}\n')
