"""What is left to give while a decision is made, beside reservations, with somebody gone; whom it looks at."""
