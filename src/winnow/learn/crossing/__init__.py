"""The only part of learning that opens private rows."""
