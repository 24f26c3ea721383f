"""Generated from the proto files by proto/generate.py; not to be edited."""
