from verdicts.registry import load_entries

for _name in ("topologies", "coupling", "compression", "step", "schedule", "methods", "attack"):
    load_entries(f"{__name__}.{_name}")
