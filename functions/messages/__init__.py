"""Reading and writing NGAP, NAS and PFCP messages. No decisions."""
