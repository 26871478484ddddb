/**
 * Signals in PostgreSQL, and how far each source has come.
 *
 * A batch is one statement: it moves the source by compare-and-set and adds the signals. If its outcome is unknown, the state of the
 * source tells where to continue; a batch that is executed after that has no effect, or is the one that was found.
 */

import type { Pool } from 'pg'
import type { RiskSignal, SignalStore, SourceState } from '../shared-risks.ts'
import { FORMAT } from '../nodes.ts'
import { toText, withRegistryErrors } from './connection.ts'

export const SIGNAL_CHANNEL = 'tollgate_risk_signal'

interface SourceRow {
  readonly sequence: number
  readonly position: string
}

/** `format` returns the format in which signals are written. */
export function createSignalStore(pool: Pool, format: () => number): SignalStore {
  return {
    openSource: (source, initial) =>
      withRegistryErrors(async () => {
        await pool.query(CREATE_SOURCE, [source, JSON.stringify(initial)])
        const { rows } = await pool.query<SourceRow>(READ_SOURCE, [source])
        const { sequence, position } = rows[0]!
        return { sequence, position: JSON.parse(position) as SourceState['position'] }
      }),
    send: ({ source, expected, position, signals }) =>
      withRegistryErrors(async () => {
        const tenants = signals.map(({ tenant }) => toText(tenant))
        const values = [
          source,
          expected,
          JSON.stringify(position),
          tenants,
          signals.map((signal) => toBody(signal, format())),
        ]
        const { rows } = await pool.query<{ moved: number }>(SEND, values)
        return rows[0]?.moved === 1
      }),
  }
}

function toBody(signal: RiskSignal, format: number): string {
  return JSON.stringify({ format, ...signal })
}

/** Returns null if a later version has written the signal. */
export function toSignal(body: string): RiskSignal | null {
  const { format, ...signal } = JSON.parse(body) as RiskSignal & { readonly format: number }
  return format <= FORMAT ? signal : null
}

const CREATE_SOURCE = `INSERT INTO risk_source (source, sequence, position, reported_at) VALUES ($1, 0, $2, now())
  ON CONFLICT (source) DO NOTHING`
const READ_SOURCE = 'SELECT sequence, position FROM risk_source WHERE source = $1'
/** All signals of a tenant are in one partition, so that the bounds of a tenant hold. */
const SEND = `WITH moved AS (
    UPDATE risk_source SET sequence = sequence + 1, position = $3, reported_at = now()
    WHERE source = $1 AND sequence = $2 RETURNING 1
  ), added AS (
    INSERT INTO risk_signal (partition, source, body)
    SELECT abs(mod(hashtextextended(s.tenant, 0), (SELECT count(*) FROM risk_partition)))::int, $1, s.body
    FROM unnest($4::text[], $5::text[]) AS s (tenant, body), moved RETURNING 1
  )
  SELECT (SELECT count(*) FROM moved) AS moved, (SELECT count(*) FROM added) AS added, pg_notify('${SIGNAL_CHANNEL}', '')`
