/** The plan of an OpenSLA declaration, and the result of its check, as the API returns them. */

import { finding, id, named, nullable, object, text } from './schemas.ts'

const number = { type: ['number', 'null'] } as const
const operationIds = { type: ['array', 'null'], items: text, description: 'Null: all operations.' } as const
const validity = {
  type: 'array',
  items: object({ start: text, end: text }),
  description: 'Times of the day in UTC; empty: always.',
} as const
const limit = object({
  name: text,
  kind: { type: 'string', enum: ['rate', 'total', 'concurrent'] },
  value: { type: 'integer', description: 'Calls per subscription; 0: switched off.' },
  per: { ...nullable(text), description: 'The seconds of a rate (`60 s`), or the window of a total (`month`).' },
  operationIds,
  validity,
})
const promise = object({
  name: text,
  operationIds,
  validity,
  availabilityPercent: number,
  errorPercentMax: number,
  concurrency: number,
  throughput: {
    type: 'array',
    items: object({
      rps: { ...number, description: 'Calls per second up to which the promise applies; null: at any load.' },
      latency: {
        type: 'array',
        items: object({ percentile: { type: 'number' }, maximumMs: number, meanMs: number }),
      },
    }),
  },
})

export const openSlaPlan = named(
  'OpenSlaPlan',
  object({
    api: id,
    variant: { ...nullable(text), description: 'Null: the default tier.' },
    version: text,
    limits: {
      type: 'array',
      items: limit,
      description:
        'In the order of the declaration. For an operation and a time, the first limit of each kind applies.',
    },
    quota: nullable(
      object({
        period: { type: 'string', enum: ['Daily', 'Monthly', 'Quarterly', 'Annual', 'PayAsYouGo'] },
        resourceUnits: { ...number, description: 'Null: pay as you go.' },
        alertPercent: { type: 'number' },
      }),
    ),
    resourceUnits: object({
      default: { type: 'number' },
      operations: {
        type: 'object',
        additionalProperties: { type: 'number' },
        description: 'Resource units of operations that differ.',
      },
    }),
    price: nullable(object({ currency: text, perUnit: { ...text, description: 'A decimal number.' } })),
    promises: { type: 'array', items: promise },
  }),
)

export const checkedDeclaration = named(
  'OpenSlaCheck',
  object({
    plan: nullable(openSlaPlan),
    findings: {
      type: 'array',
      items: object({ severity: { type: 'string', enum: ['error', 'warning'] }, ...finding.properties }, [
        'severity',
        'pointer',
        'detail',
      ]),
    },
  }),
)
