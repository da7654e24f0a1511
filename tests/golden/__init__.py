"""What users see, written down: values at fixed seeds, receipts, files, commands, names.

``NAME.json`` holds what the cases of ``NAME.py`` gave when it was written; the test runs them
again. After a change that was meant: ``python tests/golden/write.py NAME``, and read the diff.
"""
