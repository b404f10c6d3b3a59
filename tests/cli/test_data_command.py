import json

from command_line import mistake, ngo


def test_a_bundled_data_set_needs_no_files(tmp_path):
    out = ngo("data", "digits", "--out", tmp_path / "digits.json")
    assert out == "digits: 1,437 training samples, no files to verify\n"
    facts = json.loads((tmp_path / "digits.json").read_text())
    assert facts == {"dataset": "digits", "train_samples": 1437, "files": {}}


def test_an_unknown_data_set_is_refused():
    assert mistake("data", "digts").endswith("Did you mean 'digits'?")
