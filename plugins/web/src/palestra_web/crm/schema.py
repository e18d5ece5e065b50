"""The sixteen linked object types of CRMArena's organisation (section 3.1), as SQLite tables."""

from __future__ import annotations

OBJECTS: dict[str, tuple[str, ...]] = {
    "users": ("id", "name", "email"),
    "accounts": ("id", "name", "industry", "region"),
    "contacts": ("id", "account_id", "name", "email"),
    "categories": ("id", "name"),
    "products": ("id", "name", "family"),
    "product_categories": ("id", "product_id", "category_id"),
    "pricebooks": ("id", "name"),
    "prices": ("id", "pricebook_id", "product_id", "price"),
    "orders": ("id", "account_id", "contact_id", "pricebook_id", "ordered"),
    "order_items": ("id", "order_id", "product_id", "quantity", "unit_price"),
    "issues": ("id", "name", "description"),
    "cases": (
        *("id", "subject", "description", "contact_id", "account_id", "order_item_id"),
        *("issue_id", "owner_id", "status", "priority", "opened", "closed"),
    ),
    "case_history": ("id", "case_id", "field", "old_value", "new_value", "at"),
    "emails": ("id", "case_id", "sender", "text", "sent"),
    "chats": ("id", "case_id", "owner_id", "text", "started", "ended"),
    "articles": ("id", "title", "body"),
}
REFERS = {
    "account_id": "accounts",
    "contact_id": "contacts",
    "product_id": "products",
    "category_id": "categories",
    "pricebook_id": "pricebooks",
    "order_id": "orders",
    "order_item_id": "order_items",
    "issue_id": "issues",
    "owner_id": "users",
    "case_id": "cases",
}
PREFIXES = {
    "users": "U",
    "accounts": "A",
    "contacts": "P",
    "categories": "G",
    "products": "D",
    "product_categories": "X",
    "pricebooks": "B",
    "prices": "R",
    "orders": "O",
    "order_items": "I",
    "issues": "S",
    "cases": "C",
    "case_history": "H",
    "emails": "E",
    "chats": "T",
    "articles": "K",
}  # first letter of the ids of each type
NUMBERS = {"price", "quantity", "unit_price"}  # whole numbers; money is in cents


def parts_of(name: str) -> list[tuple[str, str]]:
    """The types that refer to a type, each with the column that does."""
    return [
        (other, column)
        for other, columns in OBJECTS.items()
        for column in columns
        if REFERS.get(column) == name
    ]


def ddl() -> str:
    """The statements that create the tables."""
    return "\n".join(_table(name, columns) for name, columns in OBJECTS.items())


def _table(name: str, columns: tuple[str, ...]) -> str:
    lines = []
    for column in columns:
        kind = "INTEGER" if column in NUMBERS else "TEXT"
        key = " PRIMARY KEY" if column == "id" else ""
        refers = f" REFERENCES {REFERS[column]}(id)" if column in REFERS else ""
        lines.append(f"{column} {kind}{key}{refers}")
    return f"CREATE TABLE {name} ({', '.join(lines)});"
