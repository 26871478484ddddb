/** Operations that read usage: line items, totals and their columns. */

import { Problem } from '../../foundation/domain/problem.ts'
import { GROUP_FIELDS, type GroupField } from '../../storage/store/usage-store.ts'
import type { Operation, Operations } from './operation.ts'
import {
  channel,
  instant,
  list,
  named,
  object,
  pagedQuery,
  reference,
  revisionFilter,
  servedRevision,
  text,
  time,
} from './schemas.ts'

const filters = {
  from: { ...instant, description: 'Windows that start at or after this time. Default: 30 days before `to`.' },
  to: { ...instant, description: 'Windows that start before this time. Default: now.' },
  api: { ...reference, description: 'Technical name. By default, all APIs except the platform API.' },
  customer: { ...reference, description: 'Id of the consumer.' },
  subscription: reference,
  operation: { ...reference, description: 'The `operationId`.' },
  revision: {
    ...revisionFilter,
    description: 'Needs `api`, whose revisions are numbered. 0: calls of an earlier version.',
  },
}
const amounts = {
  value: { type: 'number', description: 'Resource units.' },
  calls: { type: 'integer' },
  amount: { type: 'string', pattern: '^-?\\d+(\\.\\d+)?$', description: 'An exact decimal number.' },
  currency: { ...text, description: 'ISO 4217; empty if no price is declared.' },
} as const
const lineItem = {
  api: text,
  customer: text,
  customerName: text,
  operation: text,
  subscription: text,
  agent: text,
  ...amounts,
  time: { ...time, description: 'Start of the 10-second window.' },
  channel,
  revision: servedRevision,
} as const
const summary = {
  api: text,
  customer: text,
  customerName: { ...text, description: 'Empty if the consumer was removed.' },
  operation: text,
  subscription: text,
  agent: text,
  revision: servedRevision,
  ...amounts,
  from: time,
  to: time,
} as const
const shared = {
  method: 'GET',
  tag: 'Usage',
  scope: 'usage:read',
  own: 'filtered',
  status: 200,
  mediaTypes: ['text/csv'],
  description:
    'With `Accept: text/csv` the page is CSV (RFC 4180), and `Link` refers to the next page. A range of which rows were removed is refused with the earliest time (`keptFrom`).',
} as const satisfies Partial<Operation>

export const LINE_ITEM_COLUMNS = Object.keys(lineItem)

export const USAGE_OPERATIONS = {
  listLineItems: {
    ...shared,
    path: '/v1',
    summary: 'Lists consumption as line items, one per key and 10-second window, oldest first',
    query: pagedQuery(filters),
    answer: list(named('LineItem', object(lineItem))),
  },
  listSummaries: {
    ...shared,
    path: '/v1/summaries',
    summary: 'Lists totals of consumption',
    query: pagedQuery({
      ...filters,
      groupBy: {
        type: 'string',
        maxLength: 100,
        default: 'api,customer',
        description:
          `Any of ${GROUP_FIELDS.join(', ')}, separated by commas; empty for one total per currency. ` +
          '`revision` needs the filter `api`, and is answered for as long as line items are kept.',
      },
      interval: {
        type: 'string',
        enum: ['minute', 'hour', 'day', 'month'],
        description:
          'In UTC. Default: the whole range. `minute` is for a range of a day at most, and as long as line items are kept.',
      },
    }),
    answer: list(named('Summary', object(summary, ['value', 'calls', 'amount', 'currency', 'from', 'to']))),
  },
} as const satisfies Operations

export function summaryColumns(groupBy: readonly GroupField[]): readonly string[] {
  const columns = [...groupBy, ...Object.keys(amounts), 'from', 'to']
  return groupBy.includes('customer') ? [...columns, 'customerName'] : columns
}

export function toGroups(text: string): readonly GroupField[] {
  const names = text.split(',').map((each) => each.trim())
  if (names.length === 1 && names[0] === '') return []
  const unknown = names.find((each) => !GROUP_FIELDS.some((field) => field === each))
  if (unknown === undefined) return GROUP_FIELDS.filter((field) => names.includes(field))
  const errors = [{ pointer: '/groupBy', detail: `Use fields among ${GROUP_FIELDS.join(', ')}.` }]
  throw new Problem('payload_invalid', 'The query does not match its schema.', { errors })
}
