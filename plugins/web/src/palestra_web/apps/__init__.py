"""A person's apps (mail, calendar, payments, files, address book) and tasks in them."""
