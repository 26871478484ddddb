/** The measured service level of an API, compared with its promises, and that of all APIs together. */

import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import type { ServiceLevels } from '../../control/service-levels/service-levels.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { whenCallerGone } from './caller-gone.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, instant, named, nullable, object, text, time } from './schemas.ts'
import { checkRange, invalidQuery, toRange, type TimeRange } from './time-range.ts'

const number = { type: ['number', 'null'] } as const
export const measured = {
  calls: { type: 'integer', description: 'Calls that reached the forwarding stage; refused calls are not counted.' },
  availabilityPercent: { ...number, description: 'Share of calls that got an answer.' },
  errorPercent: { ...number, description: 'Share of answers with status 5xx.' },
  latency: object({ meanMs: number, p50Ms: number, p95Ms: number, p99Ms: number }),
} as const
const promise = object({
  variant: nullable(text),
  name: text,
  measure: { type: 'string', enum: ['availability', '5xxResponsePercent', 'latency', 'meanLatency'] },
  percentile: number,
  rps: { ...number, description: 'Calls per second up to which the promise applies; null: at any load.' },
  operationIds: { type: ['array', 'null'], items: text },
  promised: { type: 'number' },
  measured: number,
  calls: { type: 'integer', description: 'Calls that were evaluated.' },
  isKept: { type: ['boolean', 'null'], description: 'Null: no calls to evaluate.' },
})

export const rangeFilters = {
  from: { ...instant, description: 'Minutes that start at or after this time. Default: one hour before `to`.' },
  to: { ...instant, description: 'Minutes that start before this time. Default: now.' },
} as const
const range = object(rangeFilters, [])
const windows = { type: 'array', items: object({ from: time, to: time, ...measured }) } as const

export const SERVICE_LEVEL_OPERATIONS = {
  getServiceLevels: {
    method: 'GET',
    path: '/v1/serviceLevels',
    summary: 'Returns the measured service level of all APIs of the tenant together, without the platform API',
    description: 'Measured as for one API, in at most 100 windows over at most 31 days.',
    tag: 'Catalogue',
    scope: 'apis:read',
    singleWidth: 'The service level covers the calls of all consumers.',
    query: range,
    status: 200,
    answer: named('ServiceLevels', object({ from: time, to: time, measured: object(measured), windows })),
  },
  getServiceLevel: {
    method: 'GET',
    path: '/v1/apis/:name/serviceLevel',
    summary: 'Returns the measured service level of an API and the promises of its declarations',
    description:
      'Measured over all traffic, per minute. Latency is the time of the backend for answers with a status below 400, ' +
      'exact to a sixteenth of its value.',
    tag: 'Catalogue',
    scope: 'apis:read',
    query: range,
    status: 200,
    answer: named(
      'ServiceLevel',
      object({
        api: id,
        from: time,
        to: time,
        measured: object(measured),
        promises: { type: 'array', items: promise },
        windows,
      }),
    ),
  },
} as const satisfies Operations

const DEFAULT_RANGE_MS = 3_600_000
const RANGE_MAX_DAYS = 31

export interface ServiceLevelHandlersOptions {
  readonly serviceLevels: ServiceLevels
  readonly clock: Clock
}

export function serviceLevelHandlers({
  serviceLevels,
  clock,
}: ServiceLevelHandlersOptions): Handlers<typeof SERVICE_LEVEL_OPERATIONS> {
  return {
    getServiceLevel: async ({ author, params, query }) =>
      serviceLevels.of(author.tenant, params.name, toMeasuredRange(query, clock)),
    getServiceLevels: async ({ author, query }, reply) =>
      serviceLevels.ofTenant(author.tenant, toMeasuredRange(query, clock), PLATFORM_API, whenCallerGone(reply)),
  }
}

export function toMeasuredRange(query: { from?: string; to?: string }, clock: Clock): TimeRange {
  const found = toRange(query, clock.nowMs(), DEFAULT_RANGE_MS)
  checkRange(found)
  if (found.toMs - found.fromMs > RANGE_MAX_DAYS * 86_400_000 + 1) {
    throw invalidQuery('/from', `The range is longer than ${RANGE_MAX_DAYS} days.`)
  }
  return found
}
