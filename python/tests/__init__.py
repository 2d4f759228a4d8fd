"""Tests of the client. `python3 -m unittest` in the folder `python` runs them."""
