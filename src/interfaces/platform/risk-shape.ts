/** Converts a risk event to its API form: times in RFC 3339, without the tenant. */

import type { Channel } from '../../foundation/domain/attribution.ts'
import { CATEGORIES, RISK_TYPES, SEVERITIES, type RiskEvent, type RiskEvidence } from '../../foundation/domain/risk.ts'
import { channel, id, object, text, time } from './schemas.ts'

export interface ShownRisk extends Omit<RiskEvent, 'tenant' | 'firstSeenMs' | 'lastSeenMs'> {
  readonly firstSeen: string
  readonly lastSeen: string
  readonly evidence: RiskEvidence & { readonly channel: Channel }
}

export function showRisk({ tenant: _, firstSeenMs, lastSeenMs, evidence, ...event }: RiskEvent): ShownRisk {
  return {
    ...event,
    firstSeen: new Date(firstSeenMs).toISOString(),
    lastSeen: new Date(lastSeenMs).toISOString(),
    // Events of earlier versions have no reasons.
    evidence: { ...evidence, reasons: evidence.reasons ?? {}, channel: evidence.channels?.['mcp'] ? 'mcp' : 'http' },
  }
}

const counts = { type: 'object', additionalProperties: { type: 'integer' } } as const

export const riskProperties = {
  id,
  riskId: id,
  phase: { type: 'string', enum: ['opened', 'escalated', 'deescalated', 'updated', 'cleared'] },
  type: { type: 'string', enum: [...RISK_TYPES] },
  category: { type: 'string', enum: [...CATEGORIES] },
  severity: { type: 'string', enum: [...SEVERITIES] },
  attributedTo: object(
    {
      kind: {
        type: 'string',
        enum: ['consumer', 'agent', 'person', 'provider', 'anonymous', 'others'],
        description: '`others`: many parties together, while there are too many for an episode each.',
      },
      id: text,
      name: text,
      consumer: { ...text, description: 'The consumer through which an agent called that is not a consumer itself.' },
      onBehalfOf: { ...text, description: 'The person that an agent acted for.' },
    },
    ['kind', 'id', 'name'],
  ),
  api: text,
  operation: text,
  count: { type: 'integer', description: 'Events within the sliding window.' },
  windowSeconds: { type: 'integer' },
  firstSeen: time,
  lastSeen: time,
  message: text,
  evidence: object(
    {
      total: { type: 'integer', description: 'Events of the whole episode.' },
      statuses: counts,
      reasons: { ...counts, description: 'Events by reason.' },
      operations: counts,
      channel: { ...channel, description: '`mcp` if at least one event came over the Model Context Protocol.' },
      channels: {
        ...counts,
        description: 'The number of events over `mcp`, if there are any; the others came over plain HTTP.',
      },
      requestIds: { type: 'array', items: text },
    },
    ['total', 'statuses', 'reasons', 'operations', 'channel', 'requestIds'],
  ),
} as const
