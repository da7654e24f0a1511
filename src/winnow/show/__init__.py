"""What people see of results and plans: documents, and how they are rendered."""
