"""What the papers prove, for the study of it: wider than what `certify` uses."""
