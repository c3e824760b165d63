"""Moving in and out: other services' exports into memory, and everything of a user as a file and back."""
