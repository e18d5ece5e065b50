"""Several members, of one model or of many, who make one seat's decision together."""
