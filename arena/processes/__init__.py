"""The life cycle, the sandbox and the supervisor of the service's processes."""
