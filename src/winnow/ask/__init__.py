"""Questions one by one under one charge."""
