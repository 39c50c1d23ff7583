"""Data types of evcore: identities, configuration, events, states and CloudEvents.

All are msgspec Structs with pure folds over them. No module here does I/O, except `schemas.config`,
which reads the configuration files, and `schemas.generate`.
"""
