"""Documents: for each of the written contracts, one place that has every name its text uses."""
