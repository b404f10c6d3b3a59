from ngo.common.registry import load_entries

for _name in (
    "topologies",
    "couplings",
    "compression",
    "local_rule",
    "schedule",
    "methods",
    "attack",
):
    load_entries(f"{__name__}.{_name}")
