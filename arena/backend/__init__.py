"""The arena's use cases: one method for each call, and the authorization of its caller.

A call takes the caller and plain values, and returns values. It raises `InputError` for values that
make no sense, `NotFoundError` for what does not exist, `DeniedError` for what is another owner's,
`PreconditionError` for what a state forbids, and `LimitError` when it is too much; docstrings name
what goes beyond that. `access` authorizes callers, `pages` cuts long lists.
"""
