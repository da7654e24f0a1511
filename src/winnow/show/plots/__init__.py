"""Figures of public numbers, made with matplotlib (the extra ``plots``) as bytes."""
