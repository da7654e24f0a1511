"""Where randomness comes from: the tape, the noise laws, exact integer noise."""
