"""What builds the site and draws its pictures; no page of it."""
