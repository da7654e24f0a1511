"""Private linear programs: parameters, guarantees and proofs."""
