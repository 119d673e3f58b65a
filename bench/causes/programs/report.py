"""A job that computes on one CPU until it is ended."""
n = 0
while True:
    n += 1
