"""A Knative ContainerSource: events of JetStream, POSTed to functions in the order of each UE."""
