"""Dates, clocks on the wall, cron and windows, in whole numbers. Nothing here asks what time it is."""
