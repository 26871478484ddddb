/** Converts a logged call to its API form. */

import { MICRO } from '../../foundation/domain/decimal.ts'
import type { LoggedRequest } from '../../storage/store/request-store.ts'
import { channel, servedRevision, text, time } from './schemas.ts'

const milliseconds = { type: 'number' } as const

export const requestFields = {
  time,
  requestId: text,
  api: text,
  operation: text,
  status: { type: 'integer' },
  outcome: text,
  customer: text,
  customerName: text,
  subscription: text,
  agent: text,
  onBehalfOf: text,
  durationMs: milliseconds,
  upstreamMs: milliseconds,
  requestBytes: { type: 'integer' },
  responseBytes: { type: 'integer' },
  resourceUnits: { type: 'number' },
  channel,
  revision: servedRevision,
} as const

export function showRequest(request: Omit<LoggedRequest, 'tenant'>): Record<string, unknown> {
  const {
    timeMs,
    consumer,
    consumerName,
    person,
    durationUs,
    upstreamUs,
    unitsMicro,
    explanation: _,
    ...rest
  } = request
  return {
    ...rest,
    time: new Date(timeMs).toISOString(),
    customer: consumer,
    customerName: consumerName,
    onBehalfOf: person,
    durationMs: durationUs / 1_000,
    upstreamMs: upstreamUs / 1_000,
    resourceUnits: unitsMicro / MICRO,
  }
}
