"""What to expect before spending: public or assumed numbers in, chances and errors out.

Nothing here opens sealed data or charges a budget; what is simulated has a stated seed.
"""

from winnow._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
