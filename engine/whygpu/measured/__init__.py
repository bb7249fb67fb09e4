"""What users measured on their own machines: the measurement file, and what other tools write, as one record."""
