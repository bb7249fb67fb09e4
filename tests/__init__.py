"""whygpu's tests; a package, so that no other distribution's top-level 'tests' hides it."""
