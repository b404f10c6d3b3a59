from ngo.common.registry import load_entries

for _name in ("sets", "augmentation", "partitions"):
    load_entries(f"{__name__}.{_name}")
