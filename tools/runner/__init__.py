"""What tools/test.py is made of: building and listing tests, and running them."""
