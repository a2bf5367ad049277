"""What tests of GPU probes share is in `fakes`."""
