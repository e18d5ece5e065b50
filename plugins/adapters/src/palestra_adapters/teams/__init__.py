"""Teams: several members, of one model or of many, decide together for one seat."""
