/** The default declaration of the platform's own API, until its operator declares another. */

import { parseDeclaration } from '../../documents/opensla/declaration.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'

/** Per subscription: a burst of 6,000 calls, refilled at 100 per second. Calls cost no resource units. */
const DECLARATION = {
  opensla: '1.0.0',
  info: { title: 'Platform', version: '1.0.0' },
  limits: [{ name: 'default', rate: { value: 6_000, duration: 'minute' } }],
  resourceUnits: { default: 0 },
}

export function defaultPlatformSla(operationIds: readonly string[]): SlaPlan {
  const bytes = Buffer.from(JSON.stringify(DECLARATION))
  return parseDeclaration(bytes, { technicalName: PLATFORM_API, operationIds })
}
