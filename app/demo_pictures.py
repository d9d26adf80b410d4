"""The demo shop's pictures, drawn: a lamp, a moka pot, a carafe. Nothing is downloaded and nothing is random.

`draw(name, width)` gives the same bytes on the same Pillow every time, so a picture's content hash (its address) stays the same.
A picture is drawn at SCALE times its final size and reduced at the end, which is what makes the edges smooth.
"""

import io
import math
import random
from collections.abc import Callable, Sequence

from PIL import Image, ImageChops, ImageDraw, ImageFilter

WIDTH, HEIGHT = 1200, 1500  # of the design grid; every coordinate below is on it
SCALE = 2
WEBP_QUALITY = 80
GRAIN = 4  # amplitude of the film grain, of 255

Point = tuple[float, float]
Colour = tuple[int, int, int]


def draw(name: str, width: int = WIDTH) -> tuple[bytes, int, int]:
    """-> (WebP bytes, width, height) of the picture `name` of PICTURES."""
    picture = PICTURES[name]()
    height = width * HEIGHT // WIDTH
    picture = grained(picture.resize((width, height), Image.Resampling.LANCZOS))
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=WEBP_QUALITY, method=6)
    return buffer.getvalue(), width, height


# ---- the three scenes


def lamp() -> Image.Image:
    """Night lamp: a brass shell with a lit pane, at dusk."""
    picture = vertical([(0, "#f3a765"), (0.45, "#dd6a37"), (0.78, "#8c2f1a"), (1, "#2f0d08")])
    glow(picture, (430, 430), 900, "#ffe2b0", 0.95)
    glow(picture, (1250, 1500), 900, "#1b0504", 0.75)
    glow(picture, (1200, 60), 760, "#b04a24", 0.55)
    for radius in (300, 440, 600, 780, 980):
        ring(picture, (620, 800), radius, "#ffe9cf", 0.20)

    floor = mask_of([(0, 1196), (WIDTH, 1196), (WIDTH, HEIGHT), (0, HEIGHT)])
    lay(picture, floor, "#230906", 0.50)
    glow(picture, (590, 1215), 560, "#ff9d45", 0.55, squash=0.20)
    shadow(picture, ellipse((640, 1234), 420, 34), 26, 0.75)

    shell = smooth(
        [(396, 1180), (404, 980), (436, 800), (500, 664), (585, 588), (700, 520), (758, 504), (812, 546), (812, 1180)], tension=0.32
    )
    shaded(
        picture, shell, [(0, "#0f0806"), (0.10, "#5b3018"), (0.16, "#241109"), (0.80, "#140a07"), (0.93, "#4a2612"), (1, "#0d0605")]
    )
    shine(picture, [(416, 1150), (424, 980), (456, 812), (516, 688), (596, 612), (702, 544)], 7, "#ffb36b", 0.75, 5)
    shine(picture, [(800, 1170), (800, 600)], 5, "#ff9b52", 0.45, 4)

    frame = smooth([(458, 1160), (470, 968), (504, 806), (566, 700), (700, 626), (722, 640), (722, 1150)], tension=0.18)
    shaded(picture, frame, [(0, "#fff1d6"), (0.55, "#ffe3b2"), (1, "#f6bd72")])
    pane = smooth([(508, 1132), (520, 976), (548, 832), (602, 742), (690, 694), (690, 1124)], tension=0.16)
    shaded(picture, pane, [(0, "#ffb648"), (0.5, "#ffc860"), (1, "#f7952c")], across=False)
    glow(picture, (604, 960), 300, "#fff3c9", 0.9, inside=pane)
    glow(picture, (600, 930), 620, "#ffb45e", 0.42)
    for y in (860, 994):
        line(picture, [(524, y + 14), (690, y)], 5, "#b9601d", 0.42, pane)

    knob = ellipse((796, 548), 54, 54)
    ball(picture, knob, (796, 548), 54, "#1a0d08", "#ffbe80")
    base = rounded((352, 1172), (872, 1226), 27)
    shaded(picture, base, [(0, "#1b0d08"), (0.18, "#6a371b"), (0.5, "#2a140b"), (1, "#0c0605")])
    shine(picture, [(384, 1181), (846, 1181)], 5, "#ffc487", 0.85, 3)
    return picture


def moka() -> Image.Image:
    """Moka pot: eight facets of aluminium on an enamelled stove at night, steam going up."""
    picture = vertical([(0, "#0f2a33"), (0.5, "#1f5358"), (0.78, "#123338"), (1, "#081518")])
    glow(picture, (330, 380), 900, "#63a79b", 0.75)
    glow(picture, (1130, 900), 700, "#e8793a", 0.30)
    for index in range(7):
        line(picture, [(0, 190 + index * 168), (WIDTH, 190 + index * 168)], 2, "#dff5ea", 0.06)
        line(picture, [(index * 200, 0), (index * 200, 1196)], 2, "#dff5ea", 0.05)
    table = mask_of([(0, 1210), (WIDTH, 1210), (WIDTH, HEIGHT), (0, HEIGHT)])
    shaded(picture, table, [(0, "#0d2023"), (1, "#050c0e")], across=False)
    glow(picture, (600, 1232), 620, "#ff8a3c", 0.35, squash=0.16)
    shadow(picture, ellipse((610, 1232), 400, 30), 24, 0.8)

    for wisp, strength in (((560, 300), 0.38), ((640, 240), 0.26)):
        steam(picture, wisp, strength)

    metal = ["#eef3ef", "#9aa9a6", "#5b6a69", "#c9d3cf", "#7c8b89", "#3c4847"]
    facets(picture, 1208, 880, (368, 832), (436, 764), metal)  # the boiler
    collar = rounded((420, 846), (780, 892), 16)
    shaded(picture, collar, [(0, "#39413f"), (0.2, "#f6faf6"), (0.42, "#8a9794"), (0.75, "#4d5856"), (1, "#222a2a")])
    for x in range(436, 772, 14):
        line(picture, [(x, 850), (x - 3, 888)], 2, "#1d2625", 0.30)
    facets(picture, 848, 540, (446, 754), (372, 812), metal[::-1][1:] + ["#dfe7e3"])  # the jug
    spout = smooth([(404, 690), (318, 566), (288, 536), (372, 536), (420, 560)], tension=0.2)
    shaded(picture, spout, [(0, "#f3f7f3"), (0.5, "#93a19e"), (1, "#52605e")])

    lid = mask_of([(340, 540), (404, 458), (772, 458), (836, 540)])
    shaded(picture, lid, [(0, "#ccd6d2"), (0.3, "#f8fbf8"), (0.5, "#8d9b98"), (1, "#404c4b")])
    line(picture, [(352, 536), (826, 536)], 7, "#1b2322", 0.55)
    knob = smooth([(546, 458), (532, 424), (556, 392), (620, 392), (644, 424), (630, 458)], tension=0.3)
    shaded(picture, knob, [(0, "#1c1a18"), (0.35, "#5a544d"), (1, "#0a0908")])

    handle = smooth(
        [(784, 560), (962, 548), (1000, 604), (956, 800), (914, 1010), (862, 1018), (846, 980), (888, 800), (904, 650), (790, 640)],
        tension=0.22,
    )
    shaded(picture, handle, [(0, "#2a2622"), (0.5, "#141210"), (0.75, "#57504a"), (1, "#0b0a09")])
    shine(picture, [(930, 584), (954, 616), (922, 790), (884, 970)], 9, "#d9cfc4", 0.5, 7)
    valve = ellipse((470, 1052), 22, 22)
    ball(picture, valve, (470, 1052), 22, "#6d4a1d", "#ffdf9b")
    return picture


def carafe() -> Image.Image:
    """Carafe: smoked glass, half full, with the evening sun behind it."""
    picture = vertical([(0, "#efc9b8"), (0.5, "#e3a493"), (0.80, "#c07a70"), (1, "#6f3a3d")])
    glow(picture, (250, 260), 820, "#fff3e0", 0.85)
    sun = ellipse((810, 600), 290, 290)
    shaded(picture, sun, [(0, "#fbe3c4"), (1, "#f0a07a")], across=False)
    glow(picture, (810, 600), 560, "#ffe5c2", 0.40)
    table = mask_of([(0, 1180), (WIDTH, 1180), (WIDTH, HEIGHT), (0, HEIGHT)])
    shaded(picture, table, [(0, "#a65d57"), (1, "#5b2b30")], across=False)
    glow(picture, (400, 1290), 460, "#ffc98f", 0.75, squash=0.22)  # the light that falls through
    shadow(picture, smooth([(420, 1262), (800, 1262), (300, 1420), (20, 1420)], tension=0.2), 34, 0.34)
    shadow(picture, ellipse((604, 1258), 250, 26), 18, 0.62)

    glass = smooth(
        [(520, 470), (522, 540), (514, 620), (452, 746), (376, 930), (352, 1110), (392, 1230), (500, 1262)]
        + [(708, 1262), (816, 1230), (856, 1110), (832, 930), (756, 746), (694, 620), (686, 540), (688, 470)],
        tension=0.30,
    )
    behind = picture.filter(ImageFilter.GaussianBlur(16 * SCALE)).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    picture.paste(behind, mask=glass.point(lambda value: value * 72 // 100))
    lay(picture, glass, "#3a2a33", 0.42)
    shaded(
        picture,
        glass,
        [(0, "#120c12"), (0.07, "#4b3a44"), (0.22, "#7d6670"), (0.55, "#5a4650"), (0.9, "#2c2028"), (1, "#0e090d")],
        0.55,
    )

    wine = ImageChops.multiply(glass, mask_of([(0, 930), (WIDTH, 930), (WIDTH, HEIGHT), (0, HEIGHT)]))
    shaded(picture, wine, [(0, "#4e1118"), (0.3, "#9a2b26"), (0.62, "#d8613a"), (0.85, "#8c231f"), (1, "#390a10")], 0.86)
    glow(picture, (690, 1080), 260, "#ffc069", 0.8, inside=wine)
    surface = ellipse((604, 930), 226, 30)
    shaded(picture, surface, [(0, "#7c2420"), (0.6, "#ef8a55"), (1, "#7d211d")])
    line(picture, [(380, 934), (828, 934)], 3, "#ffd9b0", 0.35, surface)

    shine(picture, [(548, 494), (546, 610), (492, 748), (424, 930), (404, 1090)], 16, "#fff7ee", 0.72, 9)
    shine(picture, [(664, 496), (666, 612)], 7, "#fff1e4", 0.5, 5)
    shine(picture, [(808, 960), (828, 1100), (796, 1206)], 10, "#ffd9b4", 0.6, 7)
    shine(picture, [(430, 1234), (520, 1250), (700, 1250), (786, 1232)], 8, "#ffe6cf", 0.6, 5)
    lip = ImageChops.subtract(ellipse((604, 470), 92, 20), ellipse((604, 472), 76, 13))
    lay(picture, lip, "#fff2e4", 0.85)
    stopper = smooth(
        [(566, 472), (560, 414), (528, 370), (548, 322), (604, 306), (660, 322), (680, 370), (648, 414), (642, 472)], tension=0.3
    )
    shaded(picture, stopper, [(0, "#5f3d22"), (0.3, "#d6a56b"), (0.6, "#b47a45"), (1, "#4a2d18")])
    shine(picture, [(572, 334), (556, 372), (582, 416)], 9, "#ffe7c4", 0.6, 6)
    return picture


PICTURES: dict[str, Callable[[], Image.Image]] = {"lamp": lamp, "moka": moka, "carafe": carafe}


# ---- tools: masks are white where a shape is


def scaled(points: Sequence[Point]) -> list[Point]:
    return [(x * SCALE, y * SCALE) for x, y in points]


def rgb(text: str) -> Colour:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def blank() -> Image.Image:
    return Image.new("L", (WIDTH * SCALE, HEIGHT * SCALE))


def mask_of(points: Sequence[Point]) -> Image.Image:
    mask = blank()
    ImageDraw.Draw(mask).polygon(scaled(points), fill=255)
    return mask


def ellipse(centre: Point, across: float, down: float) -> Image.Image:
    mask = blank()
    x, y = centre
    ImageDraw.Draw(mask).ellipse(scaled([(x - across, y - down), (x + across, y + down)]), fill=255)
    return mask


def rounded(first: Point, last: Point, radius: float) -> Image.Image:
    mask = blank()
    ImageDraw.Draw(mask).rounded_rectangle(scaled([first, last]), radius * SCALE, fill=255)
    return mask


def smooth(points: Sequence[Point], tension: float, steps: int = 24) -> Image.Image:
    """A closed outline through the points. `tension` 0: corners; 0.5: as round as it gets."""
    return mask_of(curve([points[-1], *points, points[0], points[1]], tension, steps))


def curve(points: Sequence[Point], tension: float, steps: int = 24) -> list[Point]:
    """Catmull-Rom through points[1:-1], its slopes scaled by `tension`."""
    result = []
    for (ax, ay), (bx, by), (cx, cy), (dx, dy) in zip(points, points[1:], points[2:], points[3:], strict=False):
        for step in range(steps):
            t = step / steps
            near, far = 2 * t**3 - 3 * t**2 + 1, -2 * t**3 + 3 * t**2
            leave, arrive = (t**3 - 2 * t**2 + t) * tension * 2, (t**3 - t**2) * tension * 2
            result.append(
                (
                    near * bx + far * cx + leave * (cx - ax) / 2 + arrive * (dx - bx) / 2,
                    near * by + far * cy + leave * (cy - ay) / 2 + arrive * (dy - by) / 2,
                )
            )
    return [*result, points[-2]]


def gradient(stops: Sequence[tuple[float, str]], size: tuple[int, int], across: bool) -> Image.Image:
    """Colours along one axis; `stops` are (position 0..1, colour)."""
    samples = 256
    bar = Image.new("RGB", (samples, 1))
    for index in range(samples):
        at = index / (samples - 1)
        for (start, first), (end, last) in zip(stops, stops[1:], strict=False):
            if start <= at <= end:
                share = (at - start) / (end - start)
                bar.putpixel((index, 0), tuple(round(a + (b - a) * share) for a, b in zip(rgb(first), rgb(last), strict=True)))
                break
    bar = bar if across else bar.transpose(Image.Transpose.ROTATE_270)
    return bar.resize(size, Image.Resampling.BICUBIC)


def vertical(stops: Sequence[tuple[float, str]]) -> Image.Image:
    return gradient(stops, (WIDTH * SCALE, HEIGHT * SCALE), across=False)


def lay(picture: Image.Image, mask: Image.Image, colour: str, strength: float) -> None:
    picture.paste(rgb(colour), mask=mask.point(lambda value: round(value * strength)))


def shaded(
    picture: Image.Image, mask: Image.Image, stops: Sequence[tuple[float, str]], strength: float = 1, across: bool = True
) -> None:
    """Fill a shape with a gradient that spans the shape itself."""
    box = mask.getbbox()
    part = mask.crop(box)
    fill = gradient(stops, part.size, across)
    picture.paste(fill, box[:2], part if strength == 1 else part.point(lambda value: round(value * strength)))


def glow(
    picture: Image.Image,
    centre: Point,
    radius: float,
    colour: str,
    strength: float,
    squash: float = 1,
    inside: Image.Image | None = None,
) -> None:
    """Light (or dark) that falls off around a point, softly and to nothing."""
    reach = (round(radius * 2 * SCALE), round(radius * 2 * squash * SCALE))
    fall = Image.radial_gradient("L").point(lambda value: round(255 * strength * max(0.0, 1 - value / 181) ** 1.7))
    mask = blank()
    mask.paste(
        fall.resize(reach, Image.Resampling.BICUBIC),
        (round(centre[0] * SCALE - reach[0] / 2), round(centre[1] * SCALE - reach[1] / 2)),
    )
    picture.paste(rgb(colour), mask=mask if inside is None else ImageChops.multiply(mask, inside))


def shadow(picture: Image.Image, mask: Image.Image, blur: float, strength: float) -> None:
    lay(picture, mask.filter(ImageFilter.GaussianBlur(blur * SCALE)), "#0a0303", strength)


def line(
    picture: Image.Image, points: Sequence[Point], width: float, colour: str, strength: float, inside: Image.Image | None = None
) -> None:
    mask = blank()
    ImageDraw.Draw(mask).line(scaled(points), fill=255, width=round(width * SCALE), joint="curve")
    lay(picture, mask if inside is None else ImageChops.multiply(mask, inside), colour, strength)


def shine(picture: Image.Image, points: Sequence[Point], width: float, colour: str, strength: float, blur: float) -> None:
    """A soft line of reflected light that thins out at both ends."""
    path = curve([points[0], *points, points[-1]], 0.5)
    mask = blank()
    pen = ImageDraw.Draw(mask)
    for index, (x, y) in enumerate(path):
        half = width / 2 * math.sin(math.pi * (index + 0.5) / len(path)) ** 0.5 * SCALE
        pen.ellipse((x * SCALE - half, y * SCALE - half, x * SCALE + half, y * SCALE + half), fill=255)
        if index:
            pen.line(
                [(path[index - 1][0] * SCALE, path[index - 1][1] * SCALE), (x * SCALE, y * SCALE)],
                fill=255,
                width=max(1, round(half * 2)),
            )
    lay(picture, mask.filter(ImageFilter.GaussianBlur(blur * SCALE / 2)), colour, strength)


def ring(picture: Image.Image, centre: Point, radius: float, colour: str, strength: float) -> None:
    mask = blank()
    x, y = centre
    ImageDraw.Draw(mask).ellipse(
        scaled([(x - radius, y - radius), (x + radius, y + radius)]), outline=255, width=round(1.5 * SCALE)
    )
    lay(picture, mask, colour, strength)


def ball(picture: Image.Image, mask: Image.Image, centre: Point, radius: float, dark: str, light: str) -> None:
    lay(picture, mask, dark, 1)
    glow(picture, (centre[0] - radius * 0.35, centre[1] - radius * 0.4), radius * 1.1, light, 0.9, inside=mask)


def facets(picture: Image.Image, bottom: float, top: float, wide: Point, narrow: Point, colours: Sequence[str]) -> None:
    """A body with flat sides: `wide` is (left, right) at `bottom`, `narrow` at `top`."""
    widths = [0.10, 0.17, 0.23, 0.23, 0.17, 0.10]
    edges = [0.0]
    for share in widths:
        edges.append(edges[-1] + share)
    for index, colour in enumerate(colours[: len(widths)]):
        left, right = edges[index], edges[index + 1]
        corners = [
            (narrow[0] + (narrow[1] - narrow[0]) * left, top),
            (narrow[0] + (narrow[1] - narrow[0]) * right, top),
            (wide[0] + (wide[1] - wide[0]) * right, bottom),
            (wide[0] + (wide[1] - wide[0]) * left, bottom),
        ]
        darker = "#" + "".join(f"{round(part * 0.58):02x}" for part in rgb(colour))
        shaded(picture, mask_of(corners), [(0, colour), (1, darker)], across=False)
        line(picture, [corners[1], corners[2]], 2.5, "#ffffff", 0.28)


def steam(picture: Image.Image, start: Point, strength: float) -> None:
    x, y = start
    path = [(x + 60 * math.sin(step / 3.1) * (1 - step / 40), y - 260 + step * 17) for step in range(24)]
    mask = blank()
    pen = ImageDraw.Draw(mask)
    for index, (px, py) in enumerate(path):
        half = (34 - index) * SCALE
        pen.ellipse((px * SCALE - half, py * SCALE - half, px * SCALE + half, py * SCALE + half), fill=120)
    lay(picture, mask.filter(ImageFilter.GaussianBlur(22 * SCALE)), "#f2fffa", strength)


def grained(picture: Image.Image) -> Image.Image:
    """Film grain, always the same: it keeps wide gradients from banding."""
    noise = Image.frombytes("L", picture.size, random.Random(4).randbytes(picture.width * picture.height))
    noise = noise.point(lambda value: 128 + (value - 128) * GRAIN // 128)
    grain = Image.merge("RGB", (noise, noise, noise))
    return ImageChops.add(picture, grain, 1, -128)
