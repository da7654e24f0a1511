"""What every capability stands on."""
