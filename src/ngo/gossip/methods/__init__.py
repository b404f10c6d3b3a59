from verdicts.registry import load_entries

load_entries(__name__)
