"""Money over time: renting, buying, and the whole lifecycle."""
