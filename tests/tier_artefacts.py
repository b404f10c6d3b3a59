"""The figures and tables of every tier, and of all papers."""

from contextlib import chdir

from shipped_plans import REPOSITORY, planned

from ngo.pipeline.config import read_config
from ngo.pipeline.plan import plan

with chdir(REPOSITORY):
    #: The demo's, with what its list ``only`` leaves out.
    DEMO = plan({**read_config(["config/config.yaml", "config/demo.yaml"]), "only": None})

#: Those of the tiers that have samples of universes.
OF_UNIVERSES = {"multiverse", "nearest_setting"}

#: Those that every tier has.
OF_A_TIER = {name: entry for name, entry in DEMO.artefacts.items() if name not in OF_UNIVERSES}

#: Those of the NGO paper and of the questions beyond it.
ARTEFACTS = {
    **planned("papers/beyond/config.yaml").artefacts,
    **DEMO.artefacts,
    **OF_A_TIER,
}
