"""Events of owners and their delivery."""
