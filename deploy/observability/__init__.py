"""Boards for Grafana, described in Python and written as JSON by `make generate`."""
