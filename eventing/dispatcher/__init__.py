"""A Knative ContainerSource: POSTs events of JetStream to functions, each UE's in order."""
