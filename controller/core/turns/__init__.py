"""Who goes next: where the head of a class stands, and by shares whose turn it is."""
