"""The arena: queues, ladders, schedules and pages around the referee."""
