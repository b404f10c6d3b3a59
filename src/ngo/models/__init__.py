from ngo.common.registry import load_entries

for _name in ("architectures", "tasks"):
    load_entries(f"{__name__}.{_name}")
