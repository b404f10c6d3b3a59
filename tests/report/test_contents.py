"""What a page consists of: sections, the claims that each entry shows, and provenance."""

from made_up_page import ROWS, contents

from ngo.report.contents import provenance, seeds, tally


def test_sections_and_the_claims_that_an_entry_shows(tmp_path):
    made = contents(tmp_path)
    assert [name for name, _ in made.sections()] == ["5.6 Stability", "Supplement", "Claims"]
    shown = {entry.name: [row.claim for row in made.decided_by(entry)] for entry in made.shown}
    assert shown == {"fig8": ["order", "open"], "tableS1": ["same", "15"], "claims": ["later"]}
    assert sum(map(len, shown.values())) == len(ROWS)


RECORD = {
    "seed": 0, "source": "abc", "device": "cpu", "wall_seconds": 3600,
    "about": {"code": "1", "instructions": "AVX2"}, "spec": {"dataset": "mnist"},
    "versions": {"torch": "2.0"},
}  # fmt: skip
OTHER = RECORD | {"seed": 1, "source": "", "wall_seconds": 1800, "versions": {"torch": "2.1"}}


def test_facts_of_runs_that_differ_have_numbers_of_runs():
    facts = provenance([RECORD, RECORD | {"seed": 4}, OTHER], ["config/a.yaml"], ["own.py"])
    assert facts["Runs"] == "3"
    assert facts["Training time"] == "2.50 hours, the sum over runs"
    assert facts["Source revision"] == "abc (2 runs), not recorded (1 run)"
    assert facts["Results version"] == "1"
    assert facts["Seeds"] == "0 to 1, 4"
    assert facts["Version of torch"] == "2.0 (2 runs), 2.1 (1 run)"
    assert facts["Config"] == "config/a.yaml"
    assert facts["Plugins"] == "own.py"
    assert "Processor" not in facts
    assert provenance([RECORD | {"processor": "x"}], [])["Processor"] == "x"


def test_no_runs():
    facts = provenance([], [])
    assert [facts[k] for k in ("Runs", "Source revision", "Seeds")] == ["0", "not recorded", "none"]
    assert tally([{"a": {"b": 1}}, {"a": None}], "a", "b") == "1 (1 run), not recorded (1 run)"
    assert seeds([3, 1, 2, 7, 7]) == "1 to 3, 7"
