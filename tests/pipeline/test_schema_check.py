import math

import pytest
from configs import changed, config_of, plan_of

from ngo.common.registry import UserError
from ngo.pipeline.schema_check import check_schema


def test_a_schema_that_is_none_is_named(tmp_path):
    (tmp_path / "s.yaml").write_text("type: nosuch\n")
    with pytest.raises(UserError, match="schema: .* is not a JSON Schema: 'nosuch' is not valid"):
        check_schema(config_of(), tmp_path / "s.yaml")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("seeds", 0, "seeds: 0 is not allowed; it must be a list of seeds, or their number."),
        ("seeds", [True], "seeds[0]: True is not allowed; it must be a whole number, 0 or more."),
        ("seeds", [1.0], "seeds[0]: 1.0 is not allowed; it must be a whole number, 0 or more."),
        ("tier", None, "tier: None is not allowed; it must be a name of a-z, 0-9, _ and -."),
        ("tier", "x\n", "tier: 'x\\n' is not allowed; it must be a name of a-z, 0-9, _ and -."),
        ("warm", "yes", "warm: 'yes' is not allowed; it must be true or false."),
        ("defaults", [], "defaults: [] is not allowed; it must be a mapping of keys to values."),
        (
            "training.fig2.snapshots",
            ["last"],
            "training.fig2.snapshots[0]: 'last' is not allowed; it must be a whole number, 0 or "
            "more, or 'final'.",
        ),
        (
            "training.fig2.snapshots",
            [1, 1],
            "training.fig2.snapshots: [1, 1] repeats a value; name each one once.",
        ),
        (
            "training",
            {"a b": {}},
            "training: the name 'a b' is not allowed; it must be of letters, digits and _.",
        ),
        ("training.fig2.compare", "DELETE", "training.fig2: 'compare' is missing."),
        (
            "artefacts.fig3.consensus_share",
            float("nan"),
            "artefacts.fig3.consensus_share: nan is not allowed; it must be a number.",
        ),
        (
            "artefacts.fig3.consensus_share",
            2,
            "artefacts.fig3.consensus_share: 2 is not allowed; it must be a number above 0 and at "
            "most 1.",
        ),
        ("threads", 10**6, "threads: 1000000 is not allowed; it must be a whole number, 1 or more, "
         "1024 or less."),
        ("runs_per_gpu", 10**6, "runs_per_gpu: 1000000 is not allowed; it must be a whole number, "
         "1 or more, 1024 or less."),
        ("device", "gpu", "device: 'gpu' is unknown; allowed: auto, cpu, cuda. Did you mean "
         "'cuda'?"),
    ],
)  # fmt: skip
def test_what_the_schema_wants_is_told_in_plain_words(path, value, words):
    with pytest.raises(UserError) as error:
        plan_of(changed(path, value))
    assert str(error.value) == words


PLACES = (
    *("tier", "seeds", "data.root", "defaults", "defaults.lr", "defaults.topology", "training"),
    *("training.fig2.compare", "training.fig2.settings", "consensus.fig3.p", "theory.theory.p"),
)


@pytest.mark.parametrize("value", [None, {1: 2}, [[1]], math.nan, pytest.param(10**400, id="huge")])
def test_whatever_stands_in_a_config_is_told_in_a_line(value):
    for place in PLACES:
        with pytest.raises(UserError) as error:
            plan_of(changed(place, value))
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 800  # the names of all fields, and a value cut short
