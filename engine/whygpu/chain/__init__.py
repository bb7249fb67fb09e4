"""Forward chaining: strata, the two engines, and the consultation that drives them."""
