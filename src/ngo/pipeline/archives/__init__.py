"""Archives of metrics: packed, read, verified, restored; a file for each."""
