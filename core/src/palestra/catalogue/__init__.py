"""What a distribution declares: decorators beside the code, and one data file made from them."""
