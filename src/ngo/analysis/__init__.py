from verdicts.registry import load_entries

load_entries("ngo.analysis.quantities")
