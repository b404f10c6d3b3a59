"""Registries, and the error for a user's mistake: the judge's, so that one handler serves both."""

from verdicts.registry import Registry, UserError, in_a_line, load_entries, nearest, shown, unknown

__all__ = ["Registry", "UserError", "in_a_line", "load_entries", "nearest", "shown", "unknown"]
