"""What is sent: stored messages, notes and pointers as the parts of one request."""
