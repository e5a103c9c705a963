"""What is refused at create or update: one file a check, joined in `chain`."""
