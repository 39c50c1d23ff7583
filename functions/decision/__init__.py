"""The decision object, its inputs, N2 connections and protocol errors: shared by all families."""
