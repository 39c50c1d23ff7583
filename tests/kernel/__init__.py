"""SCTP of a Linux kernel, in a virtual machine."""
