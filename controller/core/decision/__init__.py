"""The one decision, from doors to evictions."""
