/**
 * Finds environment variables that were probably meant as settings: an unknown `TOLLGATE_*` name, or a
 * misspelt setting (`GATEWAY_PROT`).
 */

export interface UnknownVariable {
  readonly name: string
  /** The setting with the nearest name. */
  readonly nearest: string
}

const PREFIX = 'TOLLGATE_'
/** OpenSSL reads them. */
const OPENSSL_NAMES = ['SSL_CERT_FILE', 'SSL_CERT_DIR']
/** Variables of the command line tool, which often shares its environment with the service. */
const CLIENT_NAMES = ['TOLLGATE_URL', 'TOLLGATE_TOKEN', 'TOLLGATE_CLIENT_ID', 'TOLLGATE_CLIENT_SECRET']
/** Shorter names are close to too many other words. */
const CLOSE_LENGTH_MIN = 6
/** From this length on, two slips are likelier than a different word. */
const TWO_SLIPS_LENGTH_MIN = 10

export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>>,
  settings: readonly string[],
): readonly UnknownVariable[] {
  const known = new Set([...settings, ...CLIENT_NAMES, ...OPENSSL_NAMES])
  return Object.keys(environment)
    .filter((name) => !known.has(name) && environment[name] !== '')
    .flatMap((name) => {
      if (name.startsWith(PREFIX)) return [{ name, nearest: nearestOf(name, settings) }]
      const close = settings.find((setting) => isClose(name, setting))
      return close === undefined ? [] : [{ name, nearest: close }]
    })
}

/** With and without the prefix: `TOLLGATE_GATEWAY_PORT` means `GATEWAY_PORT`. */
function nearestOf(name: string, settings: readonly string[]): string {
  const bare = name.slice(PREFIX.length)
  const distances = [
    ...settings.map((setting) => ({ candidate: setting, slips: distance(bare, setting) })),
    ...CLIENT_NAMES.map((client) => ({ candidate: client, slips: distance(name, client) })),
  ]
  return distances.reduce((best, each) => (each.slips < best.slips ? each : best)).candidate
}

function isClose(name: string, setting: string): boolean {
  if (setting.length < CLOSE_LENGTH_MIN || Math.abs(name.length - setting.length) > 2) return false
  return distance(name.toUpperCase(), setting) <= (setting.length < TWO_SLIPS_LENGTH_MIN ? 1 : 2)
}

/** Returns the optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      let least = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (isSame ? 0 : 1))
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (isSwap) least = Math.min(least, beforeLast[column - 2]! + 1)
      current.push(least)
    }
    beforeLast = last
    last = current
  }
  return last[b.length]!
}
