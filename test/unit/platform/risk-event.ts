/** A risk event as the pipeline makes it, with `fields` laid over. */

import type { RiskEvent } from '../../../src/domain/risk.ts'
import { createIdFactory } from '../../../src/runtime/ids.ts'
import { NOW_MS } from './house.ts'

const createId = createIdFactory(() => NOW_MS)

export function riskEvent(fields: Partial<RiskEvent> = {}): RiskEvent {
  return {
    id: createId('evt'),
    riskId: createId('rsk'),
    tenant: 'acme',
    phase: 'opened',
    type: 'RateLimitBreach',
    category: 'Performance',
    severity: 'Warning',
    attributedTo: { kind: 'agent', id: 'con_1', name: 'Robot', onBehalfOf: 'per_1' },
    api: 'payments-v1',
    operation: 'pay',
    count: 12,
    windowSeconds: 60,
    firstSeenMs: NOW_MS - 5_000,
    lastSeenMs: NOW_MS,
    message: 'Robot was refused by a limit.\nTwice.',
    evidence: {
      total: 12,
      statuses: { 429: 12 },
      reasons: { rate_limited: 1 },
      operations: { pay: 12 },
      requestIds: ['00'],
    },
    ...fields,
  }
}
