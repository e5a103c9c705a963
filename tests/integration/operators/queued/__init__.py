"""What KubeRay and the training operator run through queues of Penstock."""
