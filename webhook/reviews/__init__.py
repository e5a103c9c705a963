"""AdmissionReviews in and out: how they are read and written, what a pod may look like, what a review may look up.

What is changed where:

- which workloads' templates are changed, and when: `webhook/reviews/templates`, `webhook/steps/templates`
- how large a review may be, and how many are held at a time: `webhook/reviews/bodies`
- of which form what is read of a pod has to be: `webhook/reviews/forms`
"""
