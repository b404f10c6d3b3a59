from command_line import mistake, ngo

from ngo.bench import commands
from ngo.bench.costs import Bench


def test_tables_are_printed_as_they_come_or_as_json_at_the_end(monkeypatch):
    monkeypatch.setattr(commands, "startup", lambda repeats: Bench([{"repeats": repeats}], []))
    assert "repeats" in ngo("bench", "startup", "--repeats", 3)
    assert '"repeats": 3' in ngo("bench", "startup", "--repeats", 3, "--json")


def test_an_unknown_model_is_refused():
    assert mistake("bench", "engine", "--model", "resnet").startswith("model: 'resnet' is unknown")
