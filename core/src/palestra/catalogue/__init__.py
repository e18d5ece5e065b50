"""What a distribution declares: decorators in the code, and one data file made from them."""
