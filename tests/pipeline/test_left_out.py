"""What a config leaves out, and what goes with it."""

import pytest
from configs import changed, config_of, plan_of
from tier_artefacts import OF_A_TIER

from ngo.common.registry import UserError


def test_an_experiment_that_is_left_out_takes_along_what_is_made_from_it():
    plan = plan_of(changed("training.fig2", None))
    assert OF_A_TIER.keys() - set(plan.artefacts) == {"fig2"}
    assert "fig2" not in plan.training | plan.measures["alignment"]
    plan = plan_of(changed("partitions.figS2", None))
    assert OF_A_TIER.keys() - set(plan.artefacts) == {"figS2"}
    plan = plan_of(changed("theory.theory", None))
    assert OF_A_TIER.keys() - set(plan.artefacts) == {"theory"}
    assert "theory_theory" not in plan.tables("claims")


def test_only_names_the_experiments_of_a_tier():
    plan = plan_of({**config_of("demo"), "only": ["table1", "tableS1", "figS2"]})
    assert set(plan.training) == {"table1"}
    assert set(plan.partitions) == {"figS2"}
    assert {kind for kind, entries in plan.measures.items() if entries} == {"spectra"}
    assert set(plan.artefacts) == {"claims", "table1", "tableS1", "figS2"}
    with pytest.raises(UserError, match="only: 'tabel1' is unknown; .*Did you mean 'table1'"):
        plan_of({**config_of("demo"), "only": ["tabel1"]})
