"""What products are made of: kinds, the attributes and options of their departments, brands."""

from __future__ import annotations

from typing import NamedTuple


class Department(NamedTuple):
    """Attributes products of a department may have, and the options they may come in."""

    attributes: tuple[str, ...]
    options: dict[str, tuple[str, ...]]


class Kind(NamedTuple):
    """A kind of product: what people search for, its place in the shop, prices in dollars."""

    query: str
    department: str
    shelf: str
    low: int
    high: int


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
    Kind("hooded sweatshirt", "Clothing", "Hoodies", 12, 70),
    Kind("polo shirt", "Clothing", "Shirts", 10, 50),
    Kind("dress shirt", "Clothing", "Shirts", 15, 70),
    Kind("tank top", "Clothing", "Shirts", 8, 35),
    Kind("maxi dress", "Clothing", "Dresses", 20, 90),
    Kind("evening dress", "Clothing", "Dresses", 35, 150),
    Kind("yoga leggings", "Clothing", "Activewear", 12, 60),
    Kind("running shorts", "Clothing", "Activewear", 10, 45),
    Kind("winter jacket", "Clothing", "Coats", 40, 220),
    Kind("rain coat", "Clothing", "Coats", 30, 140),
    Kind("pajama set", "Clothing", "Sleepwear", 15, 65),
    Kind("swim trunks", "Clothing", "Swimwear", 12, 50),
    Kind("running shoes", "Shoes", "Athletic", 35, 160),
    Kind("hiking boots", "Shoes", "Outdoor", 45, 200),
    Kind("ballet flats", "Shoes", "Flats", 18, 80),
    Kind("work boots", "Shoes", "Work", 50, 210),
    Kind("house slippers", "Shoes", "Slippers", 10, 45),
    Kind("platform sandals", "Shoes", "Sandals", 20, 95),
    Kind("chelsea boots", "Shoes", "Boots", 40, 180),
    Kind("coffee table", "Home", "Furniture", 50, 320),
    Kind("nightstand", "Home", "Furniture", 40, 180),
    Kind("bar stool", "Home", "Furniture", 45, 210),
    Kind("area rug", "Home", "Textiles", 25, 260),
    Kind("blackout curtains", "Home", "Textiles", 15, 80),
    Kind("throw blanket", "Home", "Textiles", 12, 70),
    Kind("duvet cover", "Home", "Bedding", 25, 120),
    Kind("desk lamp", "Home", "Lighting", 15, 90),
    Kind("floor lamp", "Home", "Lighting", 30, 160),
    Kind("wall mirror", "Home", "Decor", 25, 190),
    Kind("bluetooth speaker", "Electronics", "Audio", 18, 180),
    Kind("wireless earbuds", "Electronics", "Audio", 20, 200),
    Kind("gaming headset", "Electronics", "Audio", 25, 170),
    Kind("mechanical keyboard", "Electronics", "Computers", 30, 190),
    Kind("usb flash drive", "Electronics", "Computers", 8, 70),
    Kind("tablet stand", "Electronics", "Accessories", 10, 50),
    Kind("hdmi cable", "Electronics", "Accessories", 6, 40),
    Kind("power bank", "Electronics", "Accessories", 15, 80),
    Kind("security camera", "Electronics", "Cameras", 25, 220),
    Kind("video projector", "Electronics", "Video", 60, 400),
    Kind("shampoo", "Beauty", "Hair", 6, 40),
    Kind("hair mask", "Beauty", "Hair", 8, 45),
    Kind("face moisturizer", "Beauty", "Skin", 9, 70),
    Kind("face serum", "Beauty", "Skin", 10, 85),
    Kind("body lotion", "Beauty", "Skin", 7, 40),
    Kind("lip balm", "Beauty", "Makeup", 3, 20),
    Kind("body wash", "Beauty", "Bath", 6, 35),
    Kind("granola bars", "Grocery", "Snacks", 5, 40),
    Kind("protein cookies", "Grocery", "Snacks", 8, 50),
    Kind("trail mix", "Grocery", "Snacks", 7, 45),
    Kind("herbal tea", "Grocery", "Drinks", 5, 35),
    Kind("cold brew coffee", "Grocery", "Drinks", 8, 50),
    Kind("pasta sauce", "Grocery", "Pantry", 4, 30),
    Kind("almond butter", "Grocery", "Pantry", 7, 40),
)

SYLLABLES = (
    *("al", "bren", "cor", "dal", "el", "fen", "gar", "hol", "ise", "jor", "kel", "lun", "mar"),
    *("nor", "ov", "pel", "quin", "ros", "sol", "tam", "ul", "ver", "wyn", "yar", "zen"),
)
ENDINGS = ("a", "o", "ix", "en", "ia", "us", "ly", "ex", "on", "ara")
PRAISE = ("Works as described.", "Good value.", "My family likes it.", "Would buy again.")
BLAME = ("Not what I hoped for.", "Arrived late.", "Smaller than it looks.", "Broke in a month.")
