"""AdmissionReviews in and out: how they are read and written, what a pod may look like, what a review may look up."""
