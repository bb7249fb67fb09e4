"""Plans: what is enumerated, what each one needs, costs and how fast it is, and how they rank."""
