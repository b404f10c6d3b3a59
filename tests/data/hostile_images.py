"""Image files that a stranger might make."""

import struct
import zlib


def bomb(width, height):
    """A PNG file of some bytes that declares any size."""

    def chunk(kind, content):
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    size = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + size + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n%%EndComments\nshowpage\n%%EOF\n"
