"""Ruby gems: in a bundle, or in the gem environment."""
