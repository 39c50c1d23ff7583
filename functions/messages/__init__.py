"""Encoding and decoding of NGAP, NAS and PFCP messages. No decisions."""
