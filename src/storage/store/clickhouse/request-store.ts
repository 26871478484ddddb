/** The request log in ClickHouse. */

import { toDecimal, toMicro } from '../../../foundation/domain/decimal.ts'
import { writtenWith, type Written } from '../flush-token.ts'
import type {
  FollowedLog,
  FollowedRequests,
  FollowQuery,
  LoggedRequest,
  RequestQuery,
  RequestStore,
} from '../request-store.ts'
import type { ClickHouse } from './client.ts'
import { insertOnce } from './insert-once.ts'
import { readQuery } from './migrations.ts'
import { createReaders, type Readers } from './readers.ts'

interface Row {
  readonly at_ms: number | string
  readonly api: string
  readonly operation: string
  readonly request_id: string
  readonly status: number
  readonly outcome: string
  readonly consumer: string
  readonly consumer_name: string
  readonly subscription: string
  readonly agent: string
  readonly person: string
  readonly duration_us: number
  readonly upstream_us: number
  readonly request_bytes: string
  readonly response_bytes: string
  readonly units: string
  readonly explanation: string
  readonly channel: string
  readonly revision: number
}

interface FollowedRow extends Row {
  readonly tenant: string
  readonly filter: number
  readonly writer: string
  readonly found: number | string
  readonly last_flush: number | string
}

/** No revision has this number. */
const ANY_REVISION = -1
/** Sorts after every call. */
const END = { timeMs: Number.MAX_SAFE_INTEGER, requestId: '' }

/** By default, reads use the connection of the inserts. */
export function createClickHouseRequestStore(
  client: ClickHouse,
  readers: Readers = createReaders([client]),
): RequestStore & FollowedLog {
  const query = readQuery('request_log')
  const followQuery = readQuery('request_log_new')

  return {
    insert(token, requests, signal) {
      const written = writtenWith(token)
      const rows = requests.map((request) => toRow(request, written))
      return insertOnce(client, { table: 'request_log', token, rows, signal })
    },
    async find(filter, signal) {
      const { tenant, customer: consumer } = filter
      const statement = { query, params: toParams(filter), consumer, subject: 'The request log' }
      const rows = await readers.read<Row>(tenant, statement, signal)
      return rows.map(toRequest)
    },
    async follow(asked, signal) {
      if (asked.filters.length === 0) return []
      const statement = { query: followQuery, params: toFollowParams(asked), subject: 'The request log' }
      return toFollowed(asked, await readers.read<FollowedRow>(FOLLOWERS, statement, signal))
    },
  }
}

/** Takes the place of a tenant: these reads take turns with those of tenants. */
const FOLLOWERS = ''
/** No writer has this name; the engine takes no empty list. */
const NO_WRITER = ''

function toFollowParams({ filters, position, limit }: FollowQuery): Record<string, unknown> {
  return {
    tenants: filters.map(({ tenant }) => toHex(tenant)),
    apis: filters.map(({ api = '' }) => toHex(api)),
    customers: filters.map(({ customer = '' }) => toHex(customer)),
    outcomes: filters.map(({ outcome = '' }) => toHex(outcome)),
    revisions: filters.map(({ revision = ANY_REVISION }) => revision),
    refused: filters.map(({ isRefused }) => (isRefused === true ? 1 : 0)),
    since_ms: filters.map(({ sinceMs }) => sinceMs),
    fresh: filters.map(({ isFresh }) => (isFresh ? 1 : 0)),
    any_fresh: filters.some(({ isFresh }) => isFresh) ? 1 : 0,
    from_ms: Math.min(...filters.map(({ sinceMs }) => sinceMs)),
    writers: [NO_WRITER, ...position.keys()],
    flushes: [0, ...position.values()],
    limit,
  }
}

function toHex(name: string): string {
  return Buffer.from(name).toString('hex')
}

function toFollowed({ filters }: FollowQuery, rows: readonly FollowedRow[]): readonly FollowedRequests[] {
  const groups = new Map<string, FollowedRequests & { readonly requests: LoggedRequest[] }>()
  for (const row of rows) {
    const { writer, tenant } = row
    const filter = row.filter - 1
    const asked = filters[filter]
    // The statement has ensured that; a mistake in it must not show anybody the calls of others.
    if (asked?.tenant !== tenant || (asked.customer ?? row.consumer) !== row.consumer)
      throw new Error('the request log returned a call of another tenant or consumer')
    const key = `${filter} ${writer}`
    let group = groups.get(key)
    if (group === undefined) {
      group = { filter, writer, lastFlush: Number(row.last_flush), found: Number(row.found), requests: [] }
      groups.set(key, group)
    }
    group.requests.push({ ...toRequest(row), tenant })
  }
  return [...groups.values()]
}

function toParams({ tenant, fromMs, toMs, limit, before = END, ...filter }: RequestQuery): Record<string, unknown> {
  return {
    tenant,
    from_ms: fromMs,
    to_ms: toMs,
    api: filter.api ?? '',
    customer: filter.customer ?? '',
    outcome: filter.outcome ?? '',
    refused: filter.isRefused === true ? 1 : 0,
    request_id: filter.requestId ?? '',
    revision: filter.revision ?? ANY_REVISION,
    before_ms: before.timeMs,
    before_id: before.requestId,
    limit,
  }
}

function toRow(request: LoggedRequest, { writer, flush_number }: Written): Record<string, unknown> {
  return {
    at: request.timeMs,
    tenant: request.tenant.toWellFormed(),
    api: request.api.toWellFormed(),
    operation: request.operation.toWellFormed(),
    request_id: request.requestId,
    status: request.status,
    outcome: request.outcome,
    consumer: request.consumer.toWellFormed(),
    consumer_name: request.consumerName.toWellFormed(),
    subscription: request.subscription.toWellFormed(),
    agent: request.agent.toWellFormed(),
    person: request.person.toWellFormed(),
    duration_us: request.durationUs,
    upstream_us: request.upstreamUs,
    request_bytes: request.requestBytes,
    response_bytes: request.responseBytes,
    units: toDecimal(BigInt(request.unitsMicro), 6),
    explanation: request.explanation.toWellFormed(),
    channel: request.channel,
    revision: request.revision,
    writer,
    flush_number,
  }
}

function toRequest(row: Row): Omit<LoggedRequest, 'tenant'> {
  return {
    timeMs: Number(row.at_ms),
    api: row.api,
    operation: row.operation,
    requestId: row.request_id,
    status: row.status,
    outcome: row.outcome,
    consumer: row.consumer,
    consumerName: row.consumer_name,
    subscription: row.subscription,
    agent: row.agent,
    person: row.person,
    durationUs: row.duration_us,
    upstreamUs: row.upstream_us,
    requestBytes: Number(row.request_bytes),
    responseBytes: Number(row.response_bytes),
    unitsMicro: toMicro(row.units) ?? 0,
    explanation: row.explanation,
    channel: row.channel === 'mcp' ? 'mcp' : 'http',
    revision: row.revision,
  }
}
