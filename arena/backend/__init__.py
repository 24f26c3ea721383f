"""What can be asked of the arena: one function for each deed, and who may ask it.

A deed takes the caller and plain values, returns values, and raises the errors of `arena.errors`.
The API and the web translate to and from them; `access` says who may ask, `pages` cuts long lists.
"""
