# SPDX-License-Identifier: Apache-2.0
"""Files whose tests take longest go first, so that none of them goes on alone when all others are done."""


def first(items, *files):
    """Puts the tests of these files, in this order, before all others."""
    places = {f'test_{name}': number for number, name in enumerate(files)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))
