/**
 * Runs reads beside the inserts, and bounds each.
 *
 * A connection of the embedded engine runs one statement at a time. Reads have connections of their own, so that no insert waits for
 * a summary. A tenant uses one of them at a time, so that it delays itself before it delays others. The threads of a read yield the
 * processor to those of calls.
 */

import { Problem } from '../../../foundation/domain/problem.ts'
import { cancellable, type Canceller } from './cancellation.ts'
import { within, yielding, type ClickHouse } from './client.ts'
import { createReadQueues } from './read-queues.ts'

export interface Statement {
  readonly query: string
  readonly params: Readonly<Record<string, unknown>>
  /** Further settings, each preceded by a comma. */
  readonly settings?: string
  /** The consumer that the read is restricted to; its reads take turns with those of others. */
  readonly consumer?: string | undefined
  /** Names what is read in problems. Default: usage. */
  readonly subject?: string
}

export interface Readers {
  /** Rejects with `Problem('unavailable')`. When the signal aborts, the statement ends. */
  read<Row>(tenant: string, statement: Statement, signal?: AbortSignal): Promise<readonly Row[]>
}

export interface ReadersOptions {
  /** A further connection, which ends statements. Default: an aborted statement runs up to its time limit. */
  readonly canceller?: Canceller
}

type Connection = Pick<ClickHouse, 'query' | 'isEmbedded'>

const SECONDS_MAX = 15
const MEMORY_BYTES_MAX = 1_500_000_000
const CODES_TOO_LARGE = /\b(?:TIMEOUT_EXCEEDED|MEMORY_LIMIT_EXCEEDED|TOO_SLOW)\b/

/** Part of each statement; settings beside it would stay with the session of the embedded engine. */
const BOUNDS = `SETTINGS max_execution_time = ${SECONDS_MAX}, max_memory_usage = ${MEMORY_BYTES_MAX}`
const NICE = 5

export function createReaders(connections: readonly Connection[], options: ReadersOptions = {}): Readers {
  const { canceller = null } = options
  const withConnection = createPool(connections)
  const queues = createReadQueues()

  async function run<Row>(statement: Statement, signal: AbortSignal | undefined): Promise<readonly Row[]> {
    const { query, params, settings = '', subject } = statement
    return withConnection(async (connection) => {
      try {
        return await cancellable(canceller, signal, async (cancelling) => {
          const result = await connection.query({
            query: `${query} ${BOUNDS}${yielding(connection, NICE)}${settings}${cancelling}`,
            query_params: { ...params },
            format: 'JSONEachRow',
            // Without a canceller the connection may still run the statement when its caller has left.
            abort_signal: within(canceller === null ? signal : undefined),
          })
          return result.json<Row>()
        })
      } catch (cause) {
        await release(connection)
        throw toProblem(cause, subject)
      }
    })
  }

  return {
    async read<Row>(tenant: string, statement: Statement, signal?: AbortSignal) {
      const { consumer = '', subject } = statement
      const found = queues.run(tenant, consumer, () => run<Row>(statement, signal))
      if (found === null) throw tooMany(subject)
      return found
    },
  }
}

/** Each connection runs one task at a time; the others wait in order. */
function createPool(connections: readonly Connection[]) {
  const idle = [...connections]
  const waiting: ((connection: Connection) => void)[] = []
  return async <T>(task: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = idle.pop() ?? (await new Promise<Connection>((resolve) => waiting.push(resolve)))
    try {
      return await task(connection)
    } finally {
      const next = waiting.shift()
      if (next === undefined) idle.push(connection)
      else next(connection)
    }
  }
}

/** The embedded engine holds the memory of a statement that failed until the next one on its connection. */
async function release(connection: Connection): Promise<void> {
  if (!connection.isEmbedded) return
  try {
    await connection.query({ query: 'SELECT 1', abort_signal: within(undefined) })
  } catch {
    return
  }
}

function toProblem(cause: unknown, subject = 'Usage'): Problem {
  const isTooLarge = CODES_TOO_LARGE.test(
    String(cause instanceof Error ? `${(cause as { type?: string }).type} ${cause.message}` : cause),
  )
  const detail = isTooLarge
    ? `The answer takes more than ${SECONDS_MAX} s or too much memory. Ask for a shorter range, fewer groups, or one API or customer.`
    : `${subject} cannot be read at the moment.`
  return new Problem('unavailable', detail, { cause })
}

function tooMany(subject = 'Usage'): Problem {
  return new Problem(
    'unavailable',
    `${subject} cannot be read at the moment: too many reads wait already. Retry when they have ended.`,
  )
}
