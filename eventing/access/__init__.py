"""Who may do what on the bus: roles, their permissions, their keys, and connections as a role."""
