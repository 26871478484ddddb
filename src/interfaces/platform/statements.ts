/**
 * `GET /v1/statements`: what a consumer used in a month, per API and price, as JSON, CSV or a page to print.
 *
 * A month is closed one day after its end. Its lines do not change from then on; usage that arrives later is listed as corrections.
 */

import { addDecimals } from '../../foundation/domain/decimal.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { Consumers } from '../../control/access/consumers.ts'
import { preferredType } from '../../foundation/runtime/accept.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { StatementStore, StoredStatement } from '../../storage/store/statement-store.ts'
import { whenCallerGone } from './caller-gone.ts'
import type { Handlers, Operations } from './operation.ts'
import { isOfOther } from './owner-filter.ts'
import { named, nullable, object, reference, text, time } from './schemas.ts'
import { statementPage, type Statement } from './statement-page.ts'
import { CSV, sendCsv } from './table.ts'

const decimal = { type: 'string', pattern: '^-?\\d+(\\.\\d+)?$', description: 'An exact decimal number.' } as const
const kind = {
  type: 'string',
  enum: ['usage', 'correction'],
  description: 'A correction is usage of a closed month that arrived later.',
} as const
const statementLine = {
  kind,
  api: text,
  price: { ...decimal, description: 'Of one resource unit.' },
  currency: { ...text, description: 'ISO 4217; empty if no price is declared.' },
  calls: { type: 'integer' },
  units: { type: 'number', description: 'Resource units; exact in CSV and HTML.' },
  amount: decimal,
} as const
const statement = named(
  'Statement',
  object({
    consumer: text,
    consumerName: { ...text, description: 'Empty if the consumer was removed.' },
    month: text,
    from: time,
    to: time,
    state: { type: 'string', enum: ['Open', 'Closed'] },
    closedAt: nullable(time),
    lines: { type: 'array', items: object(statementLine) },
    totals: {
      type: 'array',
      description: 'One per currency, corrections included.',
      items: object({ currency: text, calls: { type: 'integer' }, units: { type: 'number' }, amount: decimal }),
    },
  }),
)
const STATEMENT_COLUMNS = ['month', 'consumer', ...Object.keys(statementLine)]
const HTML = 'text/html; charset=utf-8'
const MONTH = /^(\d{4})-(\d{2})$/
/** Earlier months have no usage, and later ones cannot be read from the store. */
const YEARS = { first: 2020, last: 2099 }

export const STATEMENT_OPERATIONS = {
  getStatement: {
    method: 'GET',
    path: '/v1/statements',
    summary: 'Reads what a consumer used in a month, per API and price',
    description:
      'A month is closed one day after its end (UTC). The lines of a closed month do not change; usage that arrives later is listed as corrections. A month that is no longer kept is refused with the earliest one (`keptFrom`). With `Accept: text/csv` the lines are CSV, with `Accept: text/html` a page to print. A statement has at most 10,000 lines.',
    tag: 'Usage',
    scope: 'usage:read',
    own: 'filtered',
    query: object(
      {
        consumer: { ...reference, description: 'Id of the consumer. Default: the consumer of the caller.' },
        month: { type: 'string', maxLength: 7, description: 'Such as 2026-11. Default: the current month (UTC).' },
      },
      [],
    ),
    status: 200,
    answer: statement,
    mediaTypes: ['text/csv', 'text/html'],
    problems: ['not_found'],
  },
} as const satisfies Operations

export interface StatementHandlersOptions {
  readonly statements: StatementStore
  readonly consumers: Pick<Consumers, 'get'>
  readonly clock: Clock
}

export function statementHandlers({
  statements,
  consumers,
  clock,
}: StatementHandlersOptions): Handlers<typeof STATEMENT_OPERATIONS> {
  return {
    async getStatement({ author, caller, owner, query }, reply) {
      const consumer = query.consumer ?? owner ?? caller.grant.consumer
      if (isOfOther(owner, consumer)) throw noConsumer()
      const nowMs = clock.nowMs()
      const monthMs = toMonth(query.month ?? new Date(nowMs).toISOString().slice(0, 7))
      const asked = { tenant: author.tenant, consumer, monthMs, excludeApi: PLATFORM_API, nowMs }
      const stored = await statements.read(asked, whenCallerGone(reply))
      const name = await nameOf(consumers, author.tenant, consumer)
      const isUnknown = name === null && consumer !== caller.grant.consumer
      if (isUnknown && stored.lines.length + stored.corrections.length === 0) throw noConsumer()
      const shown = showStatement(consumer, name ?? '', monthMs, stored)
      void reply.headers({ Vary: 'Accept', 'Cache-Control': 'private, no-cache' })
      switch (preferredType(reply.request.headers.accept, ['application/json', CSV, HTML])) {
        case CSV: {
          const rows = shown.lines.map((line) => ({ month: shown.month, consumer, ...line }))
          return sendCsv(reply, STATEMENT_COLUMNS, rows)
        }
        case HTML: {
          const page = statementPage(shown)
          return reply.headers(page.headers).send(page.text)
        }
        default:
          return withNumbers(shown)
      }
    },
  }
}

/** Resource units are numbers in JSON, as in every answer; CSV and the page have the exact text. */
function withNumbers({ lines, totals, ...statement }: Statement): object {
  const toNumber = <Of extends { readonly units: string }>(each: Of) => ({ ...each, units: Number(each.units) })
  return { ...statement, lines: lines.map(toNumber), totals: totals.map(toNumber) }
}

/** Returns null if the consumer was removed, or never existed. */
async function nameOf(consumers: Pick<Consumers, 'get'>, tenant: string, id: string): Promise<string | null> {
  try {
    return (await consumers.get(tenant, id)).name
  } catch (cause) {
    if (cause instanceof Problem && cause.code === 'not_found') return null
    throw cause
  }
}

function showStatement(consumer: string, consumerName: string, monthMs: number, stored: StoredStatement): Statement {
  const { closedMs, lines, corrections } = stored
  const all = [
    ...lines.map((line) => ({ kind: 'usage' as const, ...line })),
    ...corrections.map((line) => ({ kind: 'correction' as const, ...line })),
  ]
  const byCurrency = [...Map.groupBy(all, ({ currency }) => currency)].sort(([one], [other]) => (one < other ? -1 : 1))
  const from = new Date(monthMs)
  return {
    consumer,
    consumerName,
    month: from.toISOString().slice(0, 7),
    from: from.toISOString(),
    to: new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 1)).toISOString(),
    state: closedMs === null ? 'Open' : 'Closed',
    closedAt: closedMs === null ? null : new Date(closedMs).toISOString(),
    lines: all,
    totals: byCurrency.map(([currency, own]) => ({
      currency,
      calls: own.reduce((sum, { calls }) => sum + calls, 0),
      units: addDecimals(own.map(({ units }) => units)),
      amount: addDecimals(own.map(({ amount }) => amount)),
    })),
  }
}

function toMonth(text: string): number {
  const [, year, month] = MONTH.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || year < YEARS.first || year > YEARS.last || month < 1 || month > 12) {
    const errors = [{ pointer: '/month', detail: `Send a month such as 2026-11, from ${YEARS.first} on.` }]
    throw new Problem('payload_invalid', 'The query does not match its schema.', { errors })
  }
  return Date.UTC(year, month - 1, 1)
}

function noConsumer(): Problem {
  return new Problem('not_found', 'There is no consumer with this id.')
}
