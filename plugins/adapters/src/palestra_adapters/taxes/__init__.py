"""Players of tax economies that are made of a language model."""
