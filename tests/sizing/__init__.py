"""Sizing from measurements: arithmetic, simulation, rules, screens."""
