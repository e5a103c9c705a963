"""The world as one decision sees it, with what is known of it from one decision to the next."""
