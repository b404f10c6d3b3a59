from verdicts.registry import load_entries

for _name in ("model", "task"):
    load_entries(f"{__name__}.{_name}")
