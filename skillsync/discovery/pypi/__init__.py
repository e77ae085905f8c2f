"""Python distributions: where they are installed, and which files the installers say are theirs."""
