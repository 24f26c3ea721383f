"""Play one match correctly; it knows nothing of queues, ladders or owners."""
