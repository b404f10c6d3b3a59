import json

import pytest
from command_line import ngo

from ngo.cli import methods_command
from ngo.gossip.parts import REGISTRIES


def rows(text):
    """The table of methods: the words of each row, by the method."""
    table = text.partition("What goes together\n\n")[2].partition("\n\n")[0]
    return {line.split()[0]: line for line in table.splitlines() if line.strip()}


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


def test_a_row_says_what_goes_with_a_method():
    found = rows(ngo("methods"))
    assert "momentum, nesterov, sgd" in found["d2"]
    assert found["gossip"].split()[1:] == [
        "power,",
        "p",
        "=",
        "1",
        "all",
        "undirected",
        "d",
        "yes",
        "yes",
    ]
    assert found["push_sum"].split()[1:] == ["none", "all", "all", "d", "+", "1", "no", "yes"]
    assert found["centralized"].split()[1:] == ["none", "all", "none", "d", "no", "no"]
    words = " ".join(ngo("methods").split())
    assert "workers may lie (--attack) with admm, clique_averaging, d2, delayed," in words
    assert "gossip_until gossips until all workers agree" in words


def test_the_order_of_half_step_and_pull_is_there():
    words = " ".join(ngo("methods").split())
    assert "Methods adapt, then combine" in words
    assert "Only admm, dsgd_ac and extra combine, then adapt" in words


def test_weight_decay_and_warm_up_are_there():
    words = " ".join(ngo("methods").split())
    assert "(--weight-decay) goes with each rule: it adds λ x_i to g_i; with adamw it" in words
    assert "Warm-up (--warmup) goes with each schedule" in words


def test_a_method_without_failures_says_why():
    words = " ".join(ngo("methods").split())
    reasons = words.partition("Where they may not: ")[2]
    without = {name for name, line in rows(ngo("methods")).items() if line.endswith("no")}
    assert {each.split()[0] for each in reasons.split("; ")} == without


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
