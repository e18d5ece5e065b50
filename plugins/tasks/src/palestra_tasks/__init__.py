"""Tasks for Palestra: optimisation, experiments, clinics, and worlds that make tasks."""
