"""The promises of the engine as properties over hostile histories."""
