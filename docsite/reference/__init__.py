"""Pages of docs/reference, each written from what the code says of itself. `tables` has what they share."""
