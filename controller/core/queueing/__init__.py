"""What queues and flavors say: as they are written, at a moment, and by hand."""
