"""What other tools write, read as measurements: one reader for each tool, found by what a file says."""
