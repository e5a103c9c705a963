"""Penstock installed, upgraded, rolled back and uninstalled by Helm and kubectl themselves, while work waits."""
