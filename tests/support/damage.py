"""JSON documents with each entry removed, or replaced by other values."""

import copy

OTHERS = [None, "x", -7.5, 0.123, True, [], {}, {"float": "nan"}]


def places(value, path=()):
    """Every field, and the first and last entry of every list, by the keys that lead to it."""
    if isinstance(value, dict):
        keys = list(value)
    else:
        keys = sorted({0, len(value) - 1}) if isinstance(value, list) and value else []
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def damaged(document):
    """Yield the document with each entry removed, and with each replaced by other values; and the name of the field."""
    for path in places(document):
        field = [key for key in path if isinstance(key, str) and key not in ("float", "calibrators")][-1]
        for other in ["removed", *OTHERS]:
            changed = copy.deepcopy(document)
            parent = changed
            for key in path[:-1]:
                parent = parent[key]
            if other == "removed":
                del parent[path[-1]]
            elif repr(parent[path[-1]]) == repr(other):
                continue
            else:
                parent[path[-1]] = other
            yield changed, field, other == "removed" and isinstance(path[-1], str)
