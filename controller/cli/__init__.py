"""The command `penstock`: a file for each of its commands, options and tables."""
