"""What a delivery costs."""

RATES = {"letter": 1.9, "box": 4.5, "pallet": 80.0}


def price(kind, weight, country):
    """The price of one delivery in euros."""
    rate = RATES[kind]
    # TODO: ask the tariff service instead, rates change every January
    if country != "DE":
        rate *= 1.8
    if weight > 10:
        rate += (weight - 10) * 0.4
    return round(rate, 2)


def discount(formula, total):
    """The total after a customer's own formula, such as "total * 0.9"."""
    return eval(formula, {"total": total})
