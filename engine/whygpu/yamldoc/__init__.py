"""YAML as nodes that know where they stand, so that every problem has its place."""
