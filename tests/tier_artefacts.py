"""The figures and tables of every tier, and of all papers."""

from pathlib import Path

from ngo.pipeline.config_files import read_config
from ngo.pipeline.plan import plan

REPOSITORY = Path(__file__).parents[1]

#: Those of the base config: every tier has them.
OF_A_TIER = plan(read_config([REPOSITORY / "config/config.yaml"])).artefacts

#: Those of the tiers that have samples of universes.
OF_UNIVERSES = {"multiverse", "nearest_setting"}

BEYOND = [REPOSITORY / name for name in ("config/config.yaml", "papers/beyond/config.yaml")]
#: Those of the NGO paper and of the questions beyond it.
ARTEFACTS = {
    **plan(read_config(BEYOND)).paper.figures,
    **plan(read_config(BEYOND[:1])).paper.figures,
    **OF_A_TIER,
}
