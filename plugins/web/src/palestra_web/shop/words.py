"""Kinds of products, the attributes and options of their departments, and parts of brands."""

from __future__ import annotations

from typing import NamedTuple


class Department(NamedTuple):
    """Attributes that products of a department may have, and options they may come in."""

    attributes: tuple[str, ...]
    options: dict[str, tuple[str, ...]]  # values by the option's name


class ProductKind(NamedTuple):
    """A kind of product."""

    query: str  # what people search for
    department: str
    shelf: str
    low: int  # least price, dollars
    high: int  # greatest price, dollars


COLOURS = (
    *("black", "white", "navy blue", "light blue", "dark grey", "beige", "olive green"),
    *("wine red", "coral pink", "mustard yellow", "deep purple", "chocolate brown", "orange"),
)
BASE_COLOURS = (
    *("black", "white", "blue", "grey", "beige", "green", "red", "pink", "yellow", "purple"),
    *("brown", "orange"),
)
SIZES = ("x-small", "small", "medium", "large", "x-large", "xx-large")

DEPARTMENTS = {
    "Clothing": Department(
        (
            *("machine washable", "long sleeve", "short sleeve", "slim fit", "loose fit"),
            *("high waist", "elastic waistband", "drawstring closure", "button closure"),
            *("zipper closure", "quick drying", "moisture wicking", "pure cotton", "soft fleece"),
            *("wrinkle free", "water repellent", "hand wash only", "tummy control", "crew neck"),
        ),
        {"color": COLOURS, "size": SIZES},
    ),
    "Shoes": Department(
        (
            *("rubber sole", "memory foam", "arch support", "slip resistant", "steel toe"),
            *("ankle strap", "lace up", "open toe", "vegan leather", "breathable mesh"),
            *("arctic lining", "ultra lightweight", "wide width", "low heel", "waterproof"),
        ),
        {"color": COLOURS, "size": ("6", "6.5", "7", "7.5", "8", "8.5", "9", "10", "11", "12")},
    ),
    "Home": Department(
        (
            *("easy assembly", "space saving", "solid wood", "tempered glass", "non slip"),
            *("stain resistant", "easy to clean", "hypoallergenic", "double stitched"),
            *("fade resistant", "dishwasher safe", "eco friendly", "storage drawers", "king bed"),
            *("living room", "dining room", "heavy duty"),
        ),
        {
            "color": COLOURS,
            "size": ("24 x 36 inches", "3 x 5 feet", "5 x 8 feet", "8 x 10 feet", "twin", "queen"),
        },
    ),
    "Electronics": Department(
        (
            *("noise cancelling", "fast charging", "long battery life", "high resolution"),
            *("wireless charging", "plug and play", "hands free", "water resistant"),
            *("high speed", "gold plated", "dust proof", "dual band", "stereo sound"),
            *("backlit keys", "aluminum alloy", "low latency", "motion detection"),
        ),
        {
            "color": ("black", "white", "silver", "space grey", "midnight blue", "rose pink"),
            "capacity": ("32 gb", "64 gb", "128 gb", "256 gb", "512 gb"),
            "length": ("3 feet", "6 feet", "10 feet", "15 feet"),
        },
    ),
    "Beauty": Department(
        (
            *("cruelty free", "paraben free", "fragrance free", "sulfate free", "long lasting"),
            *("oil free", "tea tree", "vitamin c", "hyaluronic acid", "argan oil", "coconut oil"),
            *("anti aging", "sensitive skin", "dry skin", "deep cleansing", "alcohol free"),
        ),
        {
            "scent": ("lavender", "citrus", "vanilla", "rose", "unscented", "eucalyptus"),
            "size": ("1 fl oz", "4 fl oz", "8 fl oz", "16 fl oz", "travel pack"),
        },
    ),
    "Grocery": Department(
        (
            *("gluten free", "sugar free", "non gmo", "plant based", "low sodium", "low carb"),
            *("high protein", "dairy free", "keto friendly", "usda organic", "nut free"),
            *("artificial colors free", "ready to eat", "kosher certified", "high fiber"),
        ),
        {
            "flavor": ("original", "chocolate", "sea salt", "honey", "cinnamon", "spicy", "lime"),
            "size": ("pack of 1", "pack of 3", "pack of 6", "pack of 12"),
        },
    ),
}

KINDS = (
    ProductKind("hooded sweatshirt", "Clothing", "Hoodies", 12, 70),
    ProductKind("polo shirt", "Clothing", "Shirts", 10, 50),
    ProductKind("dress shirt", "Clothing", "Shirts", 15, 70),
    ProductKind("tank top", "Clothing", "Shirts", 8, 35),
    ProductKind("maxi dress", "Clothing", "Dresses", 20, 90),
    ProductKind("evening dress", "Clothing", "Dresses", 35, 150),
    ProductKind("yoga leggings", "Clothing", "Activewear", 12, 60),
    ProductKind("running shorts", "Clothing", "Activewear", 10, 45),
    ProductKind("winter jacket", "Clothing", "Coats", 40, 220),
    ProductKind("rain coat", "Clothing", "Coats", 30, 140),
    ProductKind("pajama set", "Clothing", "Sleepwear", 15, 65),
    ProductKind("swim trunks", "Clothing", "Swimwear", 12, 50),
    ProductKind("running shoes", "Shoes", "Athletic", 35, 160),
    ProductKind("hiking boots", "Shoes", "Outdoor", 45, 200),
    ProductKind("ballet flats", "Shoes", "Flats", 18, 80),
    ProductKind("work boots", "Shoes", "Work", 50, 210),
    ProductKind("house slippers", "Shoes", "Slippers", 10, 45),
    ProductKind("platform sandals", "Shoes", "Sandals", 20, 95),
    ProductKind("chelsea boots", "Shoes", "Boots", 40, 180),
    ProductKind("coffee table", "Home", "Furniture", 50, 320),
    ProductKind("nightstand", "Home", "Furniture", 40, 180),
    ProductKind("bar stool", "Home", "Furniture", 45, 210),
    ProductKind("area rug", "Home", "Textiles", 25, 260),
    ProductKind("blackout curtains", "Home", "Textiles", 15, 80),
    ProductKind("throw blanket", "Home", "Textiles", 12, 70),
    ProductKind("duvet cover", "Home", "Bedding", 25, 120),
    ProductKind("desk lamp", "Home", "Lighting", 15, 90),
    ProductKind("floor lamp", "Home", "Lighting", 30, 160),
    ProductKind("wall mirror", "Home", "Decor", 25, 190),
    ProductKind("bluetooth speaker", "Electronics", "Audio", 18, 180),
    ProductKind("wireless earbuds", "Electronics", "Audio", 20, 200),
    ProductKind("gaming headset", "Electronics", "Audio", 25, 170),
    ProductKind("mechanical keyboard", "Electronics", "Computers", 30, 190),
    ProductKind("usb flash drive", "Electronics", "Computers", 8, 70),
    ProductKind("tablet stand", "Electronics", "Accessories", 10, 50),
    ProductKind("hdmi cable", "Electronics", "Accessories", 6, 40),
    ProductKind("power bank", "Electronics", "Accessories", 15, 80),
    ProductKind("security camera", "Electronics", "Cameras", 25, 220),
    ProductKind("video projector", "Electronics", "Video", 60, 400),
    ProductKind("shampoo", "Beauty", "Hair", 6, 40),
    ProductKind("hair mask", "Beauty", "Hair", 8, 45),
    ProductKind("face moisturizer", "Beauty", "Skin", 9, 70),
    ProductKind("face serum", "Beauty", "Skin", 10, 85),
    ProductKind("body lotion", "Beauty", "Skin", 7, 40),
    ProductKind("lip balm", "Beauty", "Makeup", 3, 20),
    ProductKind("body wash", "Beauty", "Bath", 6, 35),
    ProductKind("granola bars", "Grocery", "Snacks", 5, 40),
    ProductKind("protein cookies", "Grocery", "Snacks", 8, 50),
    ProductKind("trail mix", "Grocery", "Snacks", 7, 45),
    ProductKind("herbal tea", "Grocery", "Drinks", 5, 35),
    ProductKind("cold brew coffee", "Grocery", "Drinks", 8, 50),
    ProductKind("pasta sauce", "Grocery", "Pantry", 4, 30),
    ProductKind("almond butter", "Grocery", "Pantry", 7, 40),
)

SYLLABLES = (
    *("al", "bren", "cor", "dal", "el", "fen", "gar", "hol", "ise", "jor", "kel", "lun", "mar"),
    *("nor", "ov", "pel", "quin", "ros", "sol", "tam", "ul", "ver", "wyn", "yar", "zen"),
)
ENDINGS = ("a", "o", "ix", "en", "ia", "us", "ly", "ex", "on", "ara")
PRAISE = ("Works as described.", "Good value.", "My family likes it.", "Would buy again.")
BLAME = ("Not what I hoped for.", "Arrived late.", "Smaller than it looks.", "Broke in a month.")
