"""Works measured on a card of one's own, beside what is estimated of them."""
