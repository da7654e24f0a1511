"""What to expect before spending: public or assumed numbers in, chances and errors out.

Nothing here opens sealed data, draws randomness or charges a budget.
"""
