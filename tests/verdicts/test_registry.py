import inspect
import sys
from importlib.util import find_spec

import pytest
from cases import refused
from foreign import CLAIMS, write
from running import finished, start

import verdicts
from verdicts.cli import main
from verdicts.quantities import QUANTITIES
from verdicts.registry import Registry, UserError, load_plugin, nearest, printable, unknown

MINE = """
import verdicts

@verdicts.quantity("median_score", unit="points")
def median_score(rows):
    return rows.groupby("seed")["score"].median()
"""
DIFFERENCE = "difference, with: {of: {method: C}, minus: {method: A}, value: score}, near: 0"


def entry():
    """An entry of a registry."""


def test_entries_have_names_and_definitions_and_the_nearest_is_told():
    registry = Registry("topology")
    assert registry.add("ring", entry, definition=entry) is entry
    registry.add("complete", 1)
    assert registry["ring"] is entry
    assert registry.definitions == {"ring": f"{__name__}:entry"}
    refused("topology: 'ring' is registered already; choose another", registry.add, "ring", 2)
    said = r"^topology: 'rign' is unknown; allowed: complete, ring. Did you mean 'ring'\?$"
    with pytest.raises(UserError, match=said):
        registry["rign"]
    assert nearest("RING", ["ring", "complete"]) == " Did you mean 'ring'?"
    assert nearest("xyz", ["ring", "complete"]) == ""
    assert nearest(8, [16, 80]) == " Did you mean 80?"


def test_characters_that_steer_a_terminal_are_escaped():
    escaped = "\\u001b[2J\\u0007\\u202e\\u009b\\u2066\\ud800"
    assert printable("\x1b[2J\a\u202e\x9b\u2066\ud800") == escaped
    assert printable("a\nb\u200bc") == "a\\u000ab\\u200bc"
    assert printable("a\nb\r", keep="\n") == "a\nb\\u000d"
    for text in ("γ − ü 日本", "a\u00a0b\u202fc", "a\u200db"):  # spaces and joiners stay
        assert printable(text) == text
    assert str(UserError("table: \x1b[2J\nforged")) == "table: \\u001b[2J\\u000aforged"


@pytest.mark.timeout(20)
def test_of_very_many_names_a_message_lists_some():
    known = [f"metric_{k:06d}" for k in range(200_000)] + ["score"]
    said = str(unknown("value", "scroe", known))
    assert len(said) < 1000
    assert said.endswith("metric_000029, … and 199971 more. Did you mean 'score'?")
    assert "Did you mean 'score'?" in nearest("SCORE", known)


def test_public_names_are_there_and_importing_them_imports_no_library():
    places = {name: find_spec(f"verdicts.{name}") for name in verdicts.__all__}
    assert set(verdicts.__all__) <= set(dir(verdicts))
    for name, place in places.items():
        assert place is None or inspect.ismodule(getattr(verdicts, name)), name
    heavy = "{'numpy', 'pandas', 'scipy', 'yaml', 'pyarrow'}"
    code = f"import sys, verdicts; print(sorted({heavy} & set(sys.modules)))"
    assert finished(start([sys.executable, "-c", code])) == "[]\n"


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    yield str(tmp_path / "mine.py")
    QUANTITIES.pop("median_score", None)
    QUANTITIES.definitions.pop("median_score", None)


def test_a_claim_is_about_a_quantity_of_ones_own(tmp_path, mine, capsys):
    assert DIFFERENCE in CLAIMS
    claims = write(tmp_path, CLAIMS.replace(DIFFERENCE, "median_score, near: 70"))
    arguments = ["check", str(claims), "--tables", str(tmp_path)]
    assert main(arguments) == 2
    assert "'median_score' is unknown" in capsys.readouterr().err
    assert main([*arguments, "--import", mine]) == 0
    assert "holds      same" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["no_such_module", "no/such.py", "broken.py"])
def test_what_cannot_be_imported_is_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("1 / 0")
    refused(rf"^import: '{name}' can't be imported [^\n]*$", load_plugin, name)
