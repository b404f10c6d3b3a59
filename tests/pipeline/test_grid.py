import pytest
from configs import config_of, plan_of

from ngo.common.registry import UserError
from ngo.training.validation import resolve


def test_a_run_in_two_experiments_exists_once():
    config = config_of()
    before = plan_of(config).runs
    config["training"]["again"] = {
        "settings": ["digits_iid"],
        "compare": [{"method": "ngo", "p": [0.8, 0.95]}],
    }
    plan = plan_of(config)
    assert len(plan.runs) == len(before) + 2  # p = 0.8, two seeds
    assert len(plan.training["again"]) == 4


def test_a_run_that_two_settings_have_is_of_the_first():
    config = config_of()
    config["settings"]["again"] = config["settings"]["digits_iid"]
    compare = [{"method": "ngo", "p": 0.77}]
    for names in (["digits_iid", "again"], ["again", "digits_iid"]):
        config["training"]["own"] = {"settings": names, "compare": compare}
        plan = plan_of(config)
        assert len(plan.training["own"]) == len(config["seeds"])
        assert {plan.settings[spec.id] for spec in plan.training["own"]} == {names[0]}
        assert {spec.partition_id for spec in plan.training["own"]} <= plan.drawn[names[0]].keys()


def test_a_number_of_seeds_counts_from_the_first_seed():
    config = config_of()
    one = {"settings": ["digits_iid"], "compare": [{"method": "ngo"}]}
    config |= {"seeds": 2, "first_seed": 100}
    config["training"] |= {
        "shared": one,
        "own": {**one, "seeds": {"digits_iid": 3}},
        "listed": {**one, "seeds": [7, 3]},
    }
    seeds = {name: [run.seed for run in runs] for name, runs in plan_of(config).training.items()}
    assert seeds["shared"] == [100, 101]
    assert seeds["own"] == [100, 101, 102]
    assert seeds["listed"] == [7, 3]
    del config["first_seed"]
    assert [run.seed for run in plan_of(config).training["shared"]] == [0, 1]


def test_lists_are_crossed_and_a_seed_list_is_an_experiments_own():
    config = config_of()
    config["training"] |= {
        "sweep": {
            "settings": ["digits_iid"],
            "seeds": [7],
            "compare": [{"method": "ngo", "p": [0.5, 0.75], "gamma": [0.1, 0.2, 0.3]}],
        }
    }
    runs = plan_of(config).training["sweep"]
    assert {(r.p, r.gamma, r.seed) for r in runs} == {
        (p, gamma, 7) for p in (0.5, 0.75) for gamma in (0.1, 0.2, 0.3)
    }


@pytest.mark.parametrize(
    ("entry", "runs"),
    [
        (
            {
                "compare": [
                    {
                        "method": "ngo",
                        "p": [0.5 + k / 10_000 for k in range(2_000)],
                        "gamma": [k / 10_000 for k in range(1, 3_001)],
                    }
                ]
            },
            "12,000,000",
        ),
        ({"seeds": 10**6, "compare": [{"method": "ngo"}]}, "1,000,000"),
    ],
)
def test_a_grid_of_too_many_runs_is_refused_before_it_is_expanded(entry, runs):
    config = config_of()
    config["training"]["sweep"] = {"settings": ["digits_iid"], **entry}
    with pytest.raises(UserError) as told:
        plan_of(config)
    assert str(told.value).startswith(f"training.sweep: its grid has {runs} runs, and the config ")
    assert str(told.value).endswith("; the limit is 100,000.")


@pytest.mark.parametrize("method", ["d2", "ngo"])
def test_a_users_own_experiment_has_the_methods_own_defaults_and_not_the_papers(method):
    """As in ``fit``: γ = 1, and p = 1 but for NGO. The base says nothing else to all settings."""
    own = {"dataset": "digits", "partition": "iid", "epochs": 10, "batch_size": 16, "lr": 0.2}
    base = config_of("paper")
    base["settings"]["small"] = own
    compare = [{"method": method, "topology": "ring"}]
    base["training"]["myexp"] = {"settings": ["small"], "compare": compare, "seeds": [0]}
    (spec,) = plan_of({**base, "only": ["myexp"]}).training["myexp"]
    assert spec == resolve({"method": method, **own})
    assert (spec.gamma, spec.p) == (1, 0.95 if method == "ngo" else 1)
