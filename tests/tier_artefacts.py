"""The figures and tables of every tier, and of all papers."""

from shipped_plans import REPOSITORY, planned

#: Those of the tiers that have samples of universes.
OF_UNIVERSES = {"multiverse", "nearest_setting"}

#: Those that every tier has.
OF_A_TIER = {
    name: entry
    for name, entry in planned("config/demo.yaml").artefacts.items()
    if name not in OF_UNIVERSES
}

BEYOND = [REPOSITORY / name for name in ("config/config.yaml", "papers/beyond/config.yaml")]
#: Those of the NGO paper and of the questions beyond it.
ARTEFACTS = {
    **planned("papers/beyond/config.yaml").paper.figures,
    **planned("config/demo.yaml").paper.figures,
    **OF_A_TIER,
}
