import pytest
from configs import changed, config_of, plan_of

from ngo.common.registry import UserError
from ngo.pipeline.config_files import GONE, without_gone


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("seeds", 0, "seeds: 0 is not allowed; it must be a list of seeds, or their number."),
        ("seeds", [True], "seeds[0]: True is not allowed; it must be a whole number, 0 or more."),
        
        
        ("tier", "x\n", "tier: 'x\\n' is not allowed; it must be a name of a-z, 0-9, _ and -."),
        ("defaults", [], "defaults: [] is not allowed; it must be a mapping of keys to values."),
        (
            "training.fig2.snapshots",
            ["last"],
            "training.fig2.snapshots[0]: 'last' is not allowed; it must be a whole number, 0 or "
            "more, or 'final'.",
        ),
        
        (
            "training",
            {"a b": {}},
            "training: the name 'a b' is not allowed; it must be of letters, digits and _.",
        ),
        
        (
            "device",
            "DELETE",
            "config: 'device' is missing. An overlay goes after its base, config/config.yaml.",
        ),
        
        (
            "artefacts.fig3.consensus_share",
            2,
            "artefacts.fig3.consensus_share: 2 is not allowed; it must be a number above 0 and at "
            "most 1.",
        ),
        
        
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


@pytest.mark.parametrize("value", [None, {1: 2}, pytest.param(10**400, id="huge")])
def test_whatever_stands_in_a_config_is_told_in_a_line(value):
    for place in PLACES:
        with pytest.raises(UserError) as error:
            plan_of(changed(place, value))
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 2000  # the names of all fields, and a value cut short


@pytest.mark.parametrize("key", GONE)
def test_a_key_of_an_earlier_release_is_told_in_a_line_and_works(key, caplog):
    config = config_of()
    assert plan_of({**config, key: 3}).training == plan_of(config).training
    assert caplog.messages == [f"note: config: {key} is no key any more: {GONE[key]}"]
    assert without_gone({**config, **dict.fromkeys(GONE)}) == config
