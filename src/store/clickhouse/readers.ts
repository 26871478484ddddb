/**
 * Runs the reads of usage beside the inserts, and bounds each.
 *
 * A connection of the embedded engine runs one statement at a time. Reads have connections of their own, so that no insert waits for
 * a summary. A tenant uses one of them at a time, so that it delays itself before it delays others. The threads of a read yield the
 * processor to those of calls.
 */

import { Problem } from '../../domain/problem.ts'
import { within, yielding, type ClickHouse } from './client.ts'

export interface Statement {
  readonly query: string
  readonly params: Readonly<Record<string, unknown>>
  /** Further settings, each preceded by a comma. */
  readonly settings?: string
}

export interface Readers {
  /** Rejects with `Problem('unavailable')`. */
  read<Row>(tenant: string, statement: Statement, signal?: AbortSignal): Promise<readonly Row[]>
}

type Connection = Pick<ClickHouse, 'query' | 'isEmbedded'>

const SECONDS_MAX = 15
const MEMORY_BYTES_MAX = 1_500_000_000
const CODES_TOO_LARGE = /\b(?:TIMEOUT_EXCEEDED|MEMORY_LIMIT_EXCEEDED|TOO_SLOW)\b/

/** Part of each statement; settings beside it would stay with the session of the embedded engine. */
const BOUNDS = `SETTINGS max_execution_time = ${SECONDS_MAX}, max_memory_usage = ${MEMORY_BYTES_MAX}`
const NICE = 5

export function createReaders(connections: readonly Connection[]): Readers {
  const idle = [...connections]
  const waiting: ((connection: Connection) => void)[] = []
  /** The last read of each tenant; removed when it has settled and no other follows. */
  const tails = new Map<string, Promise<unknown>>()

  async function withConnection<T>(task: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = idle.pop() ?? (await new Promise<Connection>((resolve) => waiting.push(resolve)))
    try {
      return await task(connection)
    } finally {
      const next = waiting.shift()
      if (next === undefined) idle.push(connection)
      else next(connection)
    }
  }

  return {
    read<Row>(tenant: string, { query, params, settings = '' }: Statement, signal?: AbortSignal) {
      const run = (): Promise<readonly Row[]> =>
        withConnection(async (connection) => {
          try {
            signal?.throwIfAborted()
            const bounded = `${query} ${BOUNDS}${yielding(connection, NICE)}${settings}`
            const options = {
              query: bounded,
              query_params: params,
              format: 'JSONEachRow',
              abort_signal: within(signal),
            } as const
            return await (await connection.query(options)).json<Row>()
          } catch (cause) {
            throw toProblem(cause)
          }
        })
      const done = (tails.get(tenant) ?? Promise.resolve()).then(run)
      const tail = done.then(
        () => {},
        () => {},
      )
      tails.set(tenant, tail)
      void tail.then(() => tails.get(tenant) === tail && tails.delete(tenant))
      return done
    },
  }
}

function toProblem(cause: unknown): Problem {
  const isTooLarge = CODES_TOO_LARGE.test(
    String(cause instanceof Error ? `${(cause as { type?: string }).type} ${cause.message}` : cause),
  )
  const detail = isTooLarge
    ? `The answer takes more than ${SECONDS_MAX} s or too much memory. Ask for a shorter range, fewer groups, or one API or customer.`
    : 'Usage cannot be read at the moment.'
  return new Problem('unavailable', detail, { cause })
}
