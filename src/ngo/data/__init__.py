from verdicts.registry import load_entries

for _name in ("sets", "augmentation", "partition"):
    load_entries(f"{__name__}.{_name}")
