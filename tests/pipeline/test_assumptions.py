import pytest
from conftest import CONFIGS, REPOSITORY

from ngo.pipeline.assumptions import as_markdown, assumptions, of_paper
from verdicts.registry import UserError

BASE = CONFIGS[0]


def found(tmp_path, *texts):
    """{key: (value, reason, file's name)} of config files with these texts, the first lowest."""
    files = [tmp_path / f"{name}.yaml" for name in "abc"[: len(texts)]]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    return {item.key: (item.value, item.reason, item.file.stem) for item in assumptions(files)}


def test_keys_lead_through_mappings_and_lists_and_a_reason_holds_for_all_of_a_value(tmp_path):
    text = """\
seeds: [0, 1] # assumed: two
training:
  fig4:
    compare:
      - p: [0.5, 0.9] # assumed: a sweep
        gamma: 0.1 # Section 5
      - p: 1
        topology: ring # assumed: the default
    levels:
      - 3
      - 4 # assumed: enough
fig8: # assumed: all of it
  gamma: 1
  p: 0.9 # assumed: its own
cases:
  - {method: ngo, p: 0.9} # assumed: the item
grid: [0.1,
  0.2, # assumed: the middle
  0.3] # assumed: the list
b: 'y' # Section 2; assumed: single quotes
c: z#assumed:no
f: 2 # assumed: with # and | inside
"""
    assert found(tmp_path, text) == {
        "seeds": ([0, 1], "two", "a"),
        "training.fig4.compare[0].p": ([0.5, 0.9], "a sweep", "a"),
        "training.fig4.compare[1].topology": ("ring", "the default", "a"),
        "training.fig4.levels[1]": (4, "enough", "a"),
        "fig8": ({"gamma": 1, "p": 0.9}, "all of it", "a"),
        "fig8.p": (0.9, "its own", "a"),
        "cases[0]": ({"method": "ngo", "p": 0.9}, "the item", "a"),
        "grid[1]": (0.2, "the middle", "a"),
        "grid": ([0.1, 0.2, 0.3], "the list", "a"),
        "b": ("y", "Section 2; single quotes", "a"),
        "f": (2, "with # and | inside", "a"),
    }


def test_a_later_file_decides(tmp_path):
    base = """\
lr: 0.1 # assumed: base
p: 0.9 # assumed: base
gamma: 1
kept: 3 # assumed: base
cases: [1, 2] # assumed: base
compare:
  - p: 0.5 # assumed: base
nested: {x: 1, y: 2} # assumed: base
"""
    overlay = """\
lr: 0.2 # assumed: overlay
p: 0.8
gamma: 2 # assumed: overlay
compare:
  - gamma: 1
nested: {x: 3}
"""
    kept = {"kept": (3, "base", "a"), "cases": ([1, 2], "base", "a")}
    kept["nested"] = ({"x": 3, "y": 2}, "base", "a")
    expected = {"lr": (0.2, "overlay", "b"), "gamma": (2, "overlay", "b"), **kept}
    assert found(tmp_path, base, overlay) == expected
    last = found(tmp_path, base, overlay, "lr: 0.3\nkept: 4 # assumed: last\n")
    assert last == {**kept, "gamma": expected["gamma"], "kept": (4, "last", "c")}


def test_a_reason_beside_no_value_is_told(tmp_path):
    with pytest.raises(UserError, match=r"line 2 of '.*a.yaml' has an assumption without a value"):
        found(tmp_path, "a: 1\n# assumed: what?\n")


def test_another_paper_has_its_own_values_and_those_of_the_base_that_its_runs_use():
    own = REPOSITORY / "papers/d2/config.yaml"
    found = of_paper([BASE, own])
    stated = [item for item in found if item.file == own]
    keys = {item.key for item in assumptions([own])}
    assert {item.key for item in stated} == keys
    assert ({item.key for item in found} - keys) == {"defaults.gamma_decay", "defaults.batch_size"}
    assert len(of_paper([BASE])) == len(assumptions([BASE])) > 100


def test_a_users_own_study_has_no_values_of_the_ngo_paper(tmp_path):
    own = tmp_path / "own.yaml"
    text = (
        "tier: own\nonly: [mine]\nsettings:\n  s: {dataset: digits, batch_size: 32}\n"
        "training:\n  mine: {settings: [s], compare: [{method: ngo}]}\n"
    )
    own.write_text(text)
    assert of_paper([BASE, own]) == []
    assert as_markdown([], "own") == "No value is marked as assumed. Tier own.\n"
    own.write_text(text.replace("32}", "32} # assumed: fits"))
    (item,) = of_paper([BASE, own])
    assert (item.value["batch_size"], item.reason) == (32, "fits")
    assert "; 1 value, from " in as_markdown([item], "own")
