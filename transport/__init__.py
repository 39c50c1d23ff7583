"""SCTP for asyncio: of the kernel, over UDP or over raw IP, behind one small interface."""
