"""Which of what was found do we want? Decides; touches no target directory."""
