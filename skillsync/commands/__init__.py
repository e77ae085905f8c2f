"""What `lock`, `sync` and `verify` do: a project's files go through the phases, and a result comes out, as a value."""
