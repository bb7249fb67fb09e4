"""Views of an advice: each turns typed objects into one form of output, and decides nothing."""
