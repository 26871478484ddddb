/** Which headers a tool may set: the gateway sets reserved ones itself, and does not accept them from a client. */

import { createRequestRules, PASS } from '../headers/header-rules.ts'

const requestRules = createRequestRules()

export function acceptsHeader(name: string): boolean {
  return requestRules.of(name) === PASS
}
