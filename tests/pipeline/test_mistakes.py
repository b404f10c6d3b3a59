"""Mistakes in a config: each is explained in one line before any job starts."""

import pytest
from configs import changed, config_of, plan_of
from tier_artefacts import OF_A_TIER

from ngo.common.registry import UserError
from ngo.pipeline.plan import SHARED


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("sede", [0], "config: 'sede' is unknown; allowed: .*Did you mean 'seeds'"),
        ("settings.digits_iid.learning_rate", 0.1, "^settings.digits_iid: 'learning_rate' is unkn"),
        (
            "resources.train",
            {"mem_mb": 1, "runtime": 1, "mem_mb_of": {"mnst": 2}},
            "resources.train.mem_mb_of: 'mnst' is unknown.*'mnist'",
        ),
        ("seeds", [0, 1, 0], r"seeds: \[0, 1, 0\] repeats 0"),
        ("seeds", [], "seeds: .* is not allowed"),
        ("seeds", [-1], r"seeds\[0\]: -1 is not allowed; it must be a whole number, 0 or more"),
        ("seeds", "01", "seeds: '01' is not allowed; .* It was read as text: write 1[.]$"),
        ("defaults.seed", "3", "defaults: seed: '3' is not a number; .* write 3[.]$"),
        ("defaults.p", 1.5, "defaults: p: 1.5 is out of range; it must be a number, 0.5 to 1"),
        ("training.table1.compare.1.method", ["gosip"], r"compare\[1\]: method: 'gosip'"),
        ("training.table1.compare.1.p", 0.9, r"p: 0.9 has no effect with method 'gossip'"),
        ("consensus.fig3.p", [0], r"consensus.fig3.p\[0\]: 0 is out of range; .* above 0, at most"),
        ("training.fig2.snapshots", "DELETE", "alignment.fig2: it needs training.fig2, with snaps"),
        ("throughput.throughput.method", ["gosip"], r"throughput.throughput.method\[0\]: 'gosip'"),
        (
            "training.figA1.snapshots",
            [2, 5000],
            r"training.figA1.snapshots: step 5000 is after the last step of digits-shards-ring-ngo-"
            r"\S+, 108; it must be 108 or less, or 'final'",
        ),
        ("training.fig4.compare.1.p", [], r"training.fig4.compare\[1\].p: \[\] is empty"),
    ],
)
def test_a_mistake_is_one_line_with_key_value_and_what_is_allowed(path, value, message):
    with pytest.raises(UserError, match=message) as error:
        plan_of(changed(path, value))
    assert "\n" not in str(error.value)


TRAINED = [
    name for name, entry in OF_A_TIER.items() if entry.apart and name in entry.reads.values()
]


@pytest.mark.parametrize("name", ["fig2", *TRAINED])
def test_runs_that_an_artefact_would_take_for_seeds_are_refused(name):
    """Two runs of one experiment that differ in what its table or figure does not show."""
    config = config_of()
    plan_of(config)
    entry = config["training"][name]
    entry["compare"] = [*entry["compare"], {**entry["compare"][0], "lr": 0.123}]
    apart = ", ".join(OF_A_TIER[name].apart)
    message = (
        rf"^training\.{name}: runs are distinguished here by {apart} and seed alone, but there are "
        r"(\S+)-[0-9a-f]{8}, \1-[0-9a-f]{8}; put runs that differ in other fields into another "
        r"experiment\.$"
    )
    with pytest.raises(UserError, match=message):
        plan_of(config)


def test_what_an_artefact_shows_may_vary_and_an_own_experiment_may_vary_in_all():
    config = config_of()
    training = config["training"]
    training["fig4"]["compare"][1]["p"] = [0.6, 0.7, 0.8, 0.9, 1]
    training["fig8"]["compare"][1] |= {"topology": "complete", "gamma": [0.1, 0.3]}
    training["figA1"]["compare"][0]["gamma"] = [0.1, 0.2]  # a row of pictures for each run
    settings = training["fig4"]["settings"]
    training["own"] = {"settings": settings, "compare": [{"lr": [0.1, 0.2], "gamma": [0.1, 0.2]}]}
    assert len(plan_of(config).training["own"]) == 4 * len(config["seeds"])


def test_partitions_that_figS2_cannot_tell_apart_are_refused():
    config = config_of()
    config["settings"]["more"] = {**config["settings"]["digits_noniid"], "shards": 60}
    config["partitions"]["figS2"]["settings"] = ["digits_noniid", "more"]
    with pytest.raises(
        UserError, match="partitions.figS2: .* by dataset, partition and seed alone"
    ):
        plan_of(config)


@pytest.mark.parametrize("name", SHARED)
def test_no_tier_has_the_name_of_a_folder_that_all_share(name):
    with pytest.raises(UserError, match=f"tier: '{name}' is a folder of results/ that all"):
        plan_of(changed("tier", name))
