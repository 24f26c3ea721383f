"""Reports, logs and replay files of matches."""
