/** `/v1/apis/{name}/serviceLevel`: how the provider's side did, against what is promised. */

import type { ServiceLevels } from '../service-level/service-levels.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, named, nullable, object, text, time } from './schemas.ts'
import { checkRange, invalidQuery, toRange } from './time-range.ts'

const number = { type: ['number', 'null'] } as const
const measured = {
  calls: { type: 'integer', description: 'Calls that were for the backend to serve; refused ones are none.' },
  availabilityPercent: { ...number, description: 'Of them, how many were answered at all.' },
  errorPercent: { ...number, description: 'Of the answers, how many were 5xx.' },
  latency: object({ meanMs: number, p50Ms: number, p95Ms: number, p99Ms: number }),
}
const promise = object({
  variant: nullable(text),
  name: text,
  measure: { type: 'string', enum: ['availability', '5xxResponsePercent', 'latency', 'meanLatency'] },
  percentile: number,
  rps: { ...number, description: 'Calls a second up to which it holds; null: at any load.' },
  operationIds: { type: ['array', 'null'], items: text },
  promised: { type: 'number' },
  measured: number,
  calls: { type: 'integer', description: 'Calls it was judged by.' },
  isKept: { type: ['boolean', 'null'], description: 'Null: nothing was there to judge.' },
})
const instant = { type: 'string', format: 'date-time' } as const

export const SERVICE_LEVEL_OPERATIONS = {
  getServiceLevel: {
    method: 'GET',
    path: '/v1/apis/:name/serviceLevel',
    summary: 'How the provider’s side of an API did, against what its declarations promise',
    description:
      'Measured over all traffic, by the minute, and by minutes divided. Latency is that of the backend, of answers ' +
      'below 400, within a sixteenth of its value.',
    tag: 'Catalogue',
    scope: 'apis:read',
    query: object(
      {
        from: { ...instant, description: 'Minutes that begin at or after it. Default: an hour before `to`.' },
        to: { ...instant, description: 'Minutes that begin before it. Default: now.' },
      },
      [],
    ),
    status: 200,
    answer: named(
      'ServiceLevel',
      object({
        api: id,
        from: time,
        to: time,
        measured: object(measured),
        promises: { type: 'array', items: promise },
        windows: { type: 'array', items: object({ from: time, to: time, ...measured }) },
      }),
    ),
  },
} as const satisfies Operations

const DEFAULT_RANGE_MS = 3_600_000
const RANGE_MAX_DAYS = 31

export function serviceLevelHandlers(
  serviceLevels: ServiceLevels,
  clock: Clock,
): Handlers<typeof SERVICE_LEVEL_OPERATIONS> {
  return {
    async getServiceLevel({ author, params, query }) {
      const range = toRange(query, clock.nowMs(), DEFAULT_RANGE_MS)
      checkRange(range)
      if (range.toMs - range.fromMs > RANGE_MAX_DAYS * 86_400_000 + 1) {
        throw invalidQuery('/from', `Ask for at most ${RANGE_MAX_DAYS} days.`)
      }
      return serviceLevels.of(author.tenant, params.name, range)
    },
  }
}
