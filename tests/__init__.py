"""The tests; a package, so that no other of this name can stand in its place."""
