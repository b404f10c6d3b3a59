"""Archives of metrics: packed, read, verified, carried over, restored; a file for each."""
