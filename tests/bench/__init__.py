"""Benchmarks: figures as ratios of one run, printed, never asserted. Not part of `make test`."""
