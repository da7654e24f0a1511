"""Private data, read and sealed. Only a crossing opens what is here."""
