"""Compiles a table of replacements as SentencePiece does, for the package's Precompiled normalizer: a double array of
32-bit units (label and flags in the low bits, the way to the children above) whose leaves say where a text begins."""
import struct
import unicodedata


def compile_charsmap(table):
    """`table` maps strings to what takes their place."""
    texts, places = b"", {}
    for text in table.values():
        if text not in places:
            places[text] = len(texts)
            texts += text.encode() + b"\0"
    root = {}
    for key, text in table.items():
        node = root
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[0] = places[text]
    units, taken, bases = {}, {0}, set()

    def place(position, node):
        base = position ^ 1
        while not (base not in bases and (base ^ position) < 1 << 21 and all(base ^ byte not in taken for byte in node)):
            base += 1
        bases.add(base)
        taken.update(base ^ byte for byte in node)
        units[position] = units.get(position, 0) | (base ^ position) << 10
        for byte, child in node.items():
            if byte == 0:
                units[base] = 1 << 31 | child
                units[position] |= 1 << 8
            else:
                units[base ^ byte] = byte
        for byte, child in node.items():
            if byte:
                place(base ^ byte, child)

    place(0, root)
    size = (max(units) | 0xFF) + 1
    array = struct.pack(f"<{size}I", *(units.get(i, 0) for i in range(size)))
    return struct.pack("<I", len(array)) + array + texts


def compatibility_map():
    """A few hundred of nmt_nfkc's kinds: compatibility forms, composed pairs, controls that vanish, spaces, longer and odd keys."""
    table = {}
    for first, last in ((0xA0, 0x100), (0x2000, 0x2070), (0x2100, 0x2140), (0xFB00, 0xFB07), (0xFF01, 0xFF40), (0x3300, 0x3310)):
        for c in range(first, last):
            form = unicodedata.normalize("NFKC", chr(c))
            if form != chr(c):
                table[chr(c)] = form
    for c in range(0xC0, 0x180):
        parts = unicodedata.normalize("NFD", chr(c))
        if len(parts) == 2:
            table[parts] = chr(c)
    for c in list(range(1, 9)) + [0xB, *range(0xE, 0x20), 0x7F, 0x200B, 0xAD, 0xFEFF]:
        table[chr(c)] = ""
    for c in (9, 0xA, 0xC, 0xD, 0x1680, 0x2028, 0x3000):
        table[chr(c)] = " "
    table.update({"\u0915\u093c": "\u0958", "ß": "ss", "\u1100": "가나다", "\r\n": "\n", "©": "", "\u0301": "", "\u0600": "<\u0600>",
                  "\U0001F468": "man", "\u0e33": "\u0e4d\u0e32", "q": "Q", "q\u0323": "q-dot", "\ud55c": "한글"})
    return table
