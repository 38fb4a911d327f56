#!/usr/bin/env python3
"""Draws docs/images/controllers.webp: what each family of controllers does, from the pictures of scripts/pictures."""

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

IMAGES = Path(__file__).resolve().parent
WIDTH, HEIGHT, LINE = 320, 240, 26  # of a panel and of its caption, pixels
# Picture; left, top, right and bottom of the part that is shown, as fractions; caption.
PANELS = (
    ("soft_arm_pressure.png", (0.0, 0.0, 1.0, 1.0), "reach: the tip goes to a target"),
    ("tube_insertion.png", (1 / 3, 0.0, 2 / 3, 1.0), "follow: the body follows the tip"),
    ("wrap_button.png", (1 / 3, 0.0, 2 / 3, 1.0), "coil: around a post, drawn tight"),
    ("wrap_reach.png", (0.5, 0.5, 1.0, 1.0), "contact plan: braces on obstacles"),
    ("snakes.png", (0.5, 0.0, 1.0, 1.0), "gaits: a snake travels and climbs"),
    ("mobile.png", (0.5, 0.0, 1.0, 1.0), "mobile: base and arm together"),
)


def panel(name, part, caption):
    image = Image.open(IMAGES / name).convert("RGB")
    left, top, right, bottom = (round(x * n) for x, n in zip(part, image.size * 2, strict=True))
    if (right - left) * HEIGHT > (bottom - top) * WIDTH:  # too wide: its middle
        spare = (right - left) - (bottom - top) * WIDTH // HEIGHT
        left, right = left + spare // 2, right - (spare - spare // 2)
    else:
        spare = (bottom - top) - (right - left) * HEIGHT // WIDTH
        top, bottom = top + spare // 2, bottom - (spare - spare // 2)
    shown = Image.new("RGB", (WIDTH, HEIGHT + LINE), "white")
    shown.paste(image.crop((left, top, right, bottom)).resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS))
    font = ImageFont.load_default(size=15)
    ImageDraw.Draw(shown).text((WIDTH / 2, HEIGHT + LINE / 2), caption, "black", font, anchor="mm")
    return shown


def main():
    sheet = Image.new("RGB", (3 * WIDTH + 20, 2 * (HEIGHT + LINE) + 10), "white")
    for i, one in enumerate(PANELS):
        sheet.paste(panel(*one), ((i % 3) * (WIDTH + 10), (i // 3) * (HEIGHT + LINE + 10)))
    sheet.save(IMAGES / "controllers.webp", quality=82)


if __name__ == "__main__":
    main()
