"""What happens to a pod or a template when it is written: one file a step, joined in `chain`."""
