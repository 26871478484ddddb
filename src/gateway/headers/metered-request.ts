/** The headers of a request whose units are counted after its response: what the client sends must not change the count. */

import { comparedName } from '../../boundary/plan/header-names.ts'
import type { UnitsPlan } from '../../boundary/plan/route-plan.ts'

const ACCEPT_ENCODING = 'accept-encoding'

/**
 * Returns the headers for the backend. Events cannot be counted in an encoded response, and a backend might repeat the header that
 * states the units.
 */
export function toMeteredHeaders(headers: readonly string[], units: UnitsPlan): string[] {
  if (units.per !== 'event' && units.per !== 'response') return [...headers]
  const dropped = comparedName(units.per === 'event' ? ACCEPT_ENCODING : units.header)
  const kept: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]!
    if (comparedName(name) !== dropped) kept.push(name, headers[index + 1]!)
  }
  if (units.per === 'event') kept.push('Accept-Encoding', 'identity')
  return kept
}
