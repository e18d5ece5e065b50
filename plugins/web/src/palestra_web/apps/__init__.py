"""A person's apps (mail, calendar, payments, files, address book) and errands in them."""
