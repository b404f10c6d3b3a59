"""What JSON-LD refers to."""


def references(value):
    """The ids of the entities that a value of a graph names."""
    if isinstance(value, dict) and value.keys() == {"@id"}:
        yield value["@id"]
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from references(each)
