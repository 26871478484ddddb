/**
 * Colours of series: the same name has the same colour on every page. Names that share a colour in one chart differ by their line.
 */

const COLOURS = 10
/** Patterns of a line: drawn and left out, in pixels. */
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [14, 4]] as const

export interface Look {
  /** Name of the token, such as `--series-3`. */
  readonly colour: string
  readonly dash: readonly number[]
}

export const OTHERS_LOOK: Look = { colour: '--text-2', dash: DASHES[2] }

/** Returns one look for each name, in order. */
export function looksOf(names: readonly string[]): readonly Look[] {
  const used = new Map<string, number>()
  return names.map((name) => {
    const colour = `--series-${hashOf(name) % COLOURS}`
    const before = used.get(colour) ?? 0
    used.set(colour, before + 1)
    return { colour, dash: DASHES[before % DASHES.length] ?? [] }
  })
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return hash >>> 0
}
