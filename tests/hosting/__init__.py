"""What all plugins for hosts share."""
