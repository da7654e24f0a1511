"""``winnow serve``: analysts ask over HTTP, owners keep control, nobody gets the data."""
