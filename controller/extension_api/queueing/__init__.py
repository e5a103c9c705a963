"""What of the cache the API serves: queues, who waits in which order, and why. Rows are those of `visibility`.

What is read is the cache as it is, in slices (`extension_api/pacing`): an answer is put together over some milliseconds
in which the cache goes on. What all may share is worked out once a second (`extension_api/queueing/shared`). A new
resource is a function here that returns a Resource, and a line in `extension_api/queueing/registry`.
"""
