"""Runs: a plan in, a folder of rows out, which can be resumed, reported, compared and replayed.

`plan` says what is measured, `measure` does it, `folder` keeps it, `tape` records every call to a model; `summary`,
`tables`, `plots` and `compare` read it.
"""
