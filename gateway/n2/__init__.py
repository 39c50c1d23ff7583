"""N2: NGAP over SCTP with gNBs on one side, CloudEvents on the other."""
