"""The N2 connections of a UE: state, events and fold."""
