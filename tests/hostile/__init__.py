"""Attacks on a running core, one file for each subject (docs/security.md has the table).

Each test is one attack, and holds if the core withstands it. ``make hostile`` runs all of them;
``make test-processes`` runs those that take seconds.
"""
