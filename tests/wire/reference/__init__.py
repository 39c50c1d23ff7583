"""Second implementations of the algorithms in `wire`, written from the specifications.

They are slow and small, and have tests with published vectors of their own. AES, X25519 and P-256
come from the package `cryptography`, SHA-256 and HMAC from the standard library.
"""
