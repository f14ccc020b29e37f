"""The two protocols between a model and the harness."""
