"""The words of evcore: identities, configuration, events, states and CloudEvents.

Everything here is data: msgspec Structs, the pure folds over them, and nothing that does I/O.
"""
