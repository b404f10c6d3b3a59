import json

import pytest
from command_line import ngo

from ngo.cli import methods_command
from ngo.gossip.parts import REGISTRIES


def test_all_parts_are_listed():
    text = ngo("methods")
    for kind, registry in REGISTRIES.items():
        assert f"(--{kind.replace('_', '-')}):" in text
        for name in registry:
            assert f"\n  {name} " in text
    words = " ".join(text.split())
    assert "D² (Tang et al. 2018): gossip with a correction" in words
    assert "[the paper, Figure 1] Reads gamma, gamma_decay, v_threshold." in words


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_it_fits_the_terminal_and_no_word_is_broken(monkeypatch, columns):
    words = set(ngo("methods").replace(";", " ").split())
    monkeypatch.setattr(methods_command, "_columns", lambda: columns)
    text = ngo("methods")
    assert max(map(len, text.splitlines())) <= columns
    left = words - set(text.replace(";", " ").split())
    assert all(set(word) == {"-"} for word in left)  # the rule of the table


def test_json_has_all_facts():
    found = json.loads(ngo("methods", "--json"))
    assert {kind: [each["name"] for each in listed] for kind, listed in found.items()} == {
        kind: sorted(registry) for kind, registry in REGISTRIES.items()
    }
    d2 = next(each for each in found["method"] if each["name"] == "d2")
    assert d2["local_rule"] == ["momentum", "nesterov", "sgd"]
    assert d2["needs_every_message"] == ""


def test_parts_of_plugins_are_listed(own_entries, tmp_path):
    lines = [
        "import ngo",
        "@ngo.coupling('soft')",
        "def soft(z, weights, gamma, run):",
        "    '''Half of it (Somebody 2001).'''",
        "    return gamma * weights * z / 2",
    ]
    (tmp_path / "mine.py").write_text("\n".join(lines))
    text = ngo("methods", "--plugin", tmp_path / "mine.py")
    assert "\n  soft              Half of it (Somebody 2001)." in text
