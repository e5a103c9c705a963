"""Dates, clocks on the wall, cron and windows, in whole numbers. Nothing here asks what time it is.

What is changed where:

- when a window opens and closes, daylight saving included: `core/calendar/windows`, `core/calendar/cron`,
  `core/calendar/wall_clock`; zones: `api/time_zones`

The windows of `cache/index/queue_windows` are of classes, not of time.
"""
