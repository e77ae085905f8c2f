"""Make the target directories match the lock."""
