"""Writes tests/golden/images: small PNG and JPEG files of every kind, and what PIL and torchvision make of them.

NAME.png or NAME.jpg beside NAME.rgb: the picture as convert("RGB") gives it after the EXIF transposition of the `datasets`
package. noise.png beside noise_*.rgb: resized, cropped, and as run_image_classification sees it. An .rgb file is a line "WIDTH
HEIGHT" and the bytes of the pixels. random_parts.json: what RandomResizedCrop chooses for given draws.
Made with Pillow 13.0.0 and torchvision 0.26.0 (pip install --no-deps torchvision, only for this script).
Usage: python scripts/golden/images.py
"""

import io
import json
import math
import pathlib
import random
import struct
import zlib

import numpy
import torch
from PIL import Image, ImageOps, PngImagePlugin
from torchvision import transforms

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/images"
NUMBERS = numpy.random.default_rng(7)


def noise(*shape, high=256, dtype=numpy.uint8):
    return NUMBERS.integers(0, high, shape, dtype=dtype)


def smooth(width, height, channels):
    """What a camera could have seen: JPEG files of noise are large."""
    y, x = numpy.mgrid[0:height, 0:width]
    planes = [127 + 120 * numpy.sin(x / (3 + c) + c) * numpy.cos(y / (4 + c)) for c in range(channels)]
    return numpy.clip(numpy.stack(planes, axis=-1), 0, 255).astype(numpy.uint8)


def rgb(name, image):
    image = image.convert("RGB")
    (FOLDER / f"{name}.rgb").write_bytes(f"{image.width} {image.height}\n".encode() + image.tobytes())


def case(name, suffix, content):
    (FOLDER / f"{name}.{suffix}").write_bytes(content)
    image = Image.open(io.BytesIO(content))
    image.load()
    if image.getexif().get(0x0112) is not None:
        image = ImageOps.exif_transpose(image)
    rgb(name, image)


def saved(image, form, **options):
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def raw_png(width, height, bits, colour, rows, before=b"", interlace=0):
    """A file of a kind that PIL does not write; `rows` are packed bytes, one string a row."""
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlace)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def png_cases():
    case("rgb", "png", saved(Image.fromarray(noise(9, 13, 3)), "PNG"))
    case("rgba", "png", saved(Image.fromarray(noise(5, 7, 4), "RGBA"), "PNG"))
    case("grey", "png", saved(Image.fromarray(noise(5, 7)), "PNG"))
    case("grey_alpha", "png", saved(Image.fromarray(noise(5, 7, 2), "LA"), "PNG"))
    case("black_white", "png", saved(Image.fromarray(noise(5, 11, high=2) * 255).convert("1"), "PNG"))
    case("grey16", "png", saved(Image.fromarray(numpy.concatenate([noise(3, 5, high=300, dtype=numpy.uint16),
                                                                  noise(3, 5, high=65536, dtype=numpy.uint16)])), "PNG"))
    case("palette", "png", saved(Image.fromarray(noise(9, 9, 3)).quantize(12), "PNG"))
    case("palette_alpha", "png", saved(Image.fromarray(noise(9, 9, 3)).quantize(40), "PNG", transparency=3))
    case("rgb_transparent", "png", saved(Image.fromarray(noise(4, 4, 3)), "PNG", transparency=(1, 2, 3)))
    case("rgb_exif", "png", saved(Image.fromarray(noise(4, 6, 3)), "PNG", exif=orientation(6)))
    case("rgb16", "png", raw_png(3, 2, 16, 2, [noise(18).tobytes() for _ in range(2)]))
    case("rgba16", "png", raw_png(3, 2, 16, 6, [noise(24).tobytes() for _ in range(2)]))
    case("grey_alpha16", "png", raw_png(3, 2, 16, 4, [noise(12).tobytes() for _ in range(2)]))
    case("grey2", "png", raw_png(9, 2, 2, 0, [noise(3).tobytes() for _ in range(2)]))
    case("grey4", "png", raw_png(5, 2, 4, 0, [noise(3).tobytes() for _ in range(2)]))
    colours = chunk(b"PLTE", bytes([10, 20, 30, 40, 50, 60]))
    case("palette_outside", "png", raw_png(4, 1, 8, 3, [bytes([0, 1, 2, 200])], colours))
    # Adam7: of a picture of 1 by 1 the first pass is all there is; one of 2 by 2 has three passes.
    pixels = noise(2, 2, 3)
    passes = [pixels[0, 0].tobytes(), pixels[0, 1].tobytes(), pixels[1].tobytes()]
    case("interlaced", "png", raw_png(2, 2, 8, 2, passes, interlace=1))


def orientation(value):
    exif = Image.Exif()
    exif[0x0112] = value
    exif[0x010F] = "a camera"
    return exif


def jpeg_cases():
    colour, grey = Image.fromarray(smooth(37, 21, 3)), Image.fromarray(smooth(19, 10, 1)[..., 0])
    case("jpeg", "jpg", saved(colour, "JPEG", quality=85))
    for name, sampling in (("444", 0), ("422", 1), ("420", 2)):
        case("jpeg_" + name, "jpg", saved(colour, "JPEG", quality=70, subsampling=sampling))
    case("jpeg_progressive", "jpg", saved(colour, "JPEG", quality=60, progressive=True))
    case("jpeg_grey", "jpg", saved(grey, "JPEG", quality=80))
    case("jpeg_cmyk", "jpg", saved(Image.fromarray(smooth(17, 15, 4), "CMYK"), "JPEG", quality=80))
    case("jpeg_rgb", "jpg", saved(colour, "JPEG", quality=80, keep_rgb=True))
    case("jpeg_restarts", "jpg", saved(colour, "JPEG", quality=80, restart_marker_blocks=2))
    for value in range(1, 9):
        case(f"jpeg_turned{value}", "jpg", saved(colour.crop((0, 0, 9, 5)), "JPEG", quality=90, exif=orientation(value)))


def notes(form, kind, count=1, cut=0):
    """A TIFF block with the orientation 6 alone, in numbers of another type than cameras write."""
    numbers = struct.pack("<" + form * count, *[6] * count) if len(form) == 1 else struct.pack("<" + form, 12, 2)
    value, behind = (numbers.ljust(4, b"\0"), b"") if len(numbers) <= 4 else (struct.pack("<I", 26), numbers)
    return (b"II*\0" + struct.pack("<IHHHI", 8, 1, 0x0112, kind, count) + value + bytes(4) + behind)[:-cut or None]


def noted_cases():
    picture = Image.fromarray(smooth(9, 5, 3))
    for name, block in (("sbyte", notes("b", 6)), ("long", notes("I", 4)), ("slong", notes("i", 9)), ("ifd", notes("I", 13)), ("float", notes("f", 11)), ("double", notes("d", 12)),
                        ("rational", notes("II", 5)), ("long8", notes("Q", 16)), ("byte", notes("B", 1)), ("none", notes("H", 3, count=0)), ("two", notes("H", 3, count=2)),
                        ("three", notes("H", 3, count=3)), ("cut", notes("H", 3, count=3, cut=1))):
        case(f"jpeg_noted_{name}", "jpg", saved(picture, "JPEG", quality=90, exif=b"Exif\0\0" + block))
    for name, packed in (("text", False), ("packed", True)):  # as ImageMagick writes notes
        text, block = PngImagePlugin.PngInfo(), b"Exif\0\0" + notes("H", 3)
        text.add_text("Raw profile type exif", f"\nexif\n{len(block):8d}\n{block.hex()[:40]}\n{block.hex()[40:]}\n", zip=packed)
        case(f"rgb_noted_{name}", "png", saved(picture, "PNG", pnginfo=text))
        text.add_text("Raw profile type exif", "\nexif\n", zip=packed)
    case("rgb_noted_twice", "png", saved(picture, "PNG", pnginfo=text, exif=orientation(3)))  # the chunk of notes counts


def animated_cases():
    """Frames are others' business: the first picture of the file counts, whether it belongs to the animation or not."""
    first, *frames = (Image.fromarray(smooth(7 + i, 5 + i, 3)).crop((i, i, 7 + i, 5 + i)) for i in range(3))
    for name, default in (("animated", False), ("animated_apart", True)):
        case(name, "png", saved(first, "PNG", save_all=True, append_images=frames, default_image=default, duration=10))


def resized(image):
    for width, height in ((8, 8), (64, 50), (41, 9), (3, 29), (1, 1), (41, 29)):
        rgb(f"noise_{width}x{height}", image.resize((width, height), Image.Resampling.BILINEAR))
    for edge in (16, 50):
        view = transforms.Compose([transforms.Resize(edge), transforms.CenterCrop(edge)])
        rgb(f"noise_edge{edge}", view(image))
        rgb(f"noise_edge{edge}_upright", view(image.transpose(Image.Transpose.ROTATE_90)))
    rgb("noise_padded", transforms.CenterCrop((40, 36))(image))


class Draws:
    """Numbers in [0, 1) in the place of torch's generator."""

    def __init__(self, seed):
        self.numbers, self.given = random.Random(seed), []

    def next(self):
        self.given.append(self.numbers.random())
        return self.given[-1]


def choices(sizes):
    """What torchvision chooses when its draws are these. It draws in this order, and whole numbers by modulo, not by share."""
    made = []
    for seed, (width, height) in enumerate(sizes):
        draws = Draws(seed)

        class Uniform(torch.Tensor):
            pass

        def uniform(_self, low, high):
            return torch.tensor([low + (high - low) * draws.next()], dtype=torch.float64)

        def randint(low, high, size):
            return torch.tensor([low + math.floor(draws.next() * (high - low))])

        module = transforms.transforms.torch
        kept = module.empty, module.randint
        empty = type("Empty", (), {"uniform_": uniform})
        module.empty, module.randint = lambda *_: empty(), randint
        log, exp = module.log, module.exp
        module.log = lambda tensor: log(tensor.double())
        try:
            top, left, h, w = transforms.RandomResizedCrop.get_params(Image.new("RGB", (width, height)), [0.08, 1.0], [3 / 4, 4 / 3])
        finally:
            (module.empty, module.randint), module.log = kept, log
        made.append({"width": width, "height": height, "draws": draws.given, "part": [top, left, h, w]})
    return made


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    png_cases()
    jpeg_cases()
    animated_cases()
    noted_cases()
    image = Image.fromarray(noise(29, 41, 3))
    case("noise", "png", saved(image, "PNG"))
    resized(image)
    pixels = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])(image)
    (FOLDER / "noise_pixels.f32").write_bytes(pixels.numpy().astype("<f4").tobytes())
    sizes = [(41, 29)] * 6 + [(200, 10), (10, 200), (3, 3), (1, 1), (640, 480), (1000, 1)]
    (FOLDER / "random_parts.json").write_text(json.dumps(choices(sizes)) + "\n")


if __name__ == "__main__":
    main()
