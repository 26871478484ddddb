/** The schema of an operation that a subscription may call, with its limits and its quota. */

import { LIMIT_KINDS } from '../../foundation/domain/limit-rule.ts'
import { id, named, nullable, object, scopeNames, text, time } from './schemas.ts'

const limit = object({
  name: text,
  kind: { type: 'string', enum: LIMIT_KINDS },
  value: { type: 'integer', description: '0: disabled.' },
  per: nullable(text),
  validity: {
    type: 'array',
    items: object({ start: text, end: text }),
    description: 'Times of day in UTC at which the limit applies; empty: always.',
  },
  appliesNow: { type: 'boolean', description: 'Whether the limit applies to a call made now.' },
  remaining: { type: ['integer', 'null'], description: 'Calls.' },
  resetsAt: { ...nullable(time), description: 'Time at which a total is reset.' },
})
const units = { type: 'number', description: 'Resource units.' } as const
const quota = object({
  period: { type: 'string', enum: ['Daily', 'Monthly', 'Quarterly', 'Annual', 'PayAsYouGo'] },
  resourceUnits: { ...nullable(units), description: 'Null: pay as you go.' },
  used: units,
  remaining: nullable(units),
  resetsAt: time,
})
export const subscribedOperation = named(
  'SubscribedOperation',
  object({
    api: { ...id, description: 'The API of the operation; for a product, one of its members.' },
    operationId: text,
    method: text,
    path: text,
    scopes: scopeNames,
    security: { type: 'array', items: text },
    resourceUnits: units,
    limits: { type: 'array', items: limit },
    quota: nullable(quota),
  }),
)
