/**
 * Derives a shade of a colour for each theme, with a contrast of at least 4.5:1 to every surface (WCAG 2.2, 1.4.3).
 *
 * No colour has that contrast to white and to black at once, so one colour cannot serve both themes.
 */

export interface Shades {
  readonly light: string
  readonly dark: string
}

type Rgb = readonly [number, number, number]

const CONTRAST_MIN = 4.5
/** The surfaces that are nearest to the text, with the quiet accent on them (`style.css`). */
const DARKEST_LIGHT = '#eceef2'
const LIGHTEST_DARK = '#23272e'
const QUIET_LIGHT = 0x1f / 0xff
const QUIET_DARK = 0x2b / 0xff
const STEPS = 50

/** Returns null for a text that is no colour. */
export function toShades(colour: string): Shades | null {
  const from = parse(colour)
  if (from === null) return null
  return {
    light: shade(from, [0, 0, 0], parse(DARKEST_LIGHT)!, QUIET_LIGHT),
    dark: shade(from, [255, 255, 255], parse(LIGHTEST_DARK)!, QUIET_DARK),
  }
}

/** Mixes the colour with black or white until the contrast is reached. */
function shade(from: Rgb, to: Rgb, surface: Rgb, quiet: number): string {
  for (let step = 0; step < STEPS; step++) {
    const mixed = mix(from, to, step / STEPS)
    if (contrast(mixed, surface) >= CONTRAST_MIN && contrast(mixed, mix(surface, mixed, quiet)) >= CONTRAST_MIN)
      return toText(mixed)
  }
  return toText(to)
}

export function contrastOf(one: string, other: string): number {
  return contrast(parse(one) ?? [0, 0, 0], parse(other) ?? [0, 0, 0])
}

function contrast(one: Rgb, other: Rgb): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

function luminance([red, green, blue]: Rgb): number {
  const linear = (channel: number): number => {
    const part = channel / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

function mix(from: Rgb, to: Rgb, part: number): Rgb {
  return from.map((channel, index) => Math.round(channel + (to[index]! - channel) * part)) as unknown as Rgb
}

function parse(colour: string): Rgb | null {
  const [, red, green, blue] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour) ?? []
  return red === undefined ? null : [parseInt(red, 16), parseInt(green!, 16), parseInt(blue!, 16)]
}

function toText(rgb: Rgb): string {
  return `#${rgb.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}
