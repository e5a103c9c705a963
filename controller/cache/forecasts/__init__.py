"""When pods are expected to end, and whose word on that is believed no more. The rules are `core.forecasts`."""
