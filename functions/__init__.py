"""The procedures of the core, one file each, and in `functions.runtime` what hosts them.

A procedure is pure: state and trigger in, events and outputs out. It imports `schemas` and
`wire`, and has no clock, no randomness, no I/O; what it needs of them is in its `Env`.
"""
