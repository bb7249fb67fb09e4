"""The docs; ``tools`` holds what builds the site and draws its pictures."""
