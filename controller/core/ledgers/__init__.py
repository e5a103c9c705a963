"""What is left to give while a decision is made: quota and room, beside reservations, with somebody gone."""
