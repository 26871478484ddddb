/** The months from which on usage is kept, as the store has them, and the refusal of reads before them. */

import { notKept, type KeptUsage } from '../retention.ts'
import { within, type ClickHouse } from './client.ts'
import { insertOnce } from './insert-once.ts'
import { splitRange } from './summary-plan.ts'

/** Subjects in the order in which their rows are removed. */
export const SUBJECTS = { line_items: 'lineItemsFromMs', sums: 'sumsFromMs', statements: 'statementsFromMs' } as const
export type Subject = keyof typeof SUBJECTS

interface Range {
  readonly fromMs: number
  readonly toMs: number
}

/** Reads the months as they were at a time; default: as they are. */
export async function readKeptUsage(client: ClickHouse, atMs?: number): Promise<KeptUsage> {
  const condition = atMs === undefined ? 'true' : `toUnixTimestamp64Milli(at) <= ${atMs}`
  const result = await client.query({
    query: `SELECT subject, toString(max(month)) AS month FROM kept_usage WHERE ${condition} GROUP BY subject`,
    format: 'JSONEachRow',
    abort_signal: within(undefined),
  })
  const rows = await result.json<{ subject: string; month: string }>()
  const of = (subject: Subject): number =>
    Date.parse(rows.find((row) => row.subject === subject)?.month ?? '1970-01-01')
  return { lineItemsFromMs: of('line_items'), sumsFromMs: of('sums'), statementsFromMs: of('statements') }
}

/** Written before rows of earlier months are removed. The latest month counts, so a repetition changes nothing. */
export async function writeKeptUsage(
  client: ClickHouse,
  { subject, fromMs, nowMs }: { readonly subject: Subject; readonly fromMs: number; readonly nowMs: number },
  signal?: AbortSignal,
): Promise<void> {
  const month = new Date(fromMs).toISOString().slice(0, 10)
  const token = `${subject}-${month}-${nowMs}`
  await insertOnce(client, { table: 'kept_usage', token, rows: [{ subject, month, at: nowMs }], signal })
}

/** Throws `Problem('payload_invalid')` if line items of the range may have been removed. */
export function requireLineItems({ fromMs, toMs }: Range, { lineItemsFromMs }: KeptUsage): void {
  if (fromMs >= toMs || fromMs >= lineItemsFromMs) return
  throw notKept(
    '/from',
    'Line items are kept from {keptFrom} on (RETENTION_LINE_ITEMS_DAYS). Send this time or a later one as `from`.',
    lineItemsFromMs,
  )
}

/** Throws `Problem('payload_invalid')` if sums of the range, or line items of its parts of hours, may have been removed. */
export function requireSums(range: Range, { lineItemsFromMs, sumsFromMs }: KeptUsage): void {
  const { first, hours, last } = splitRange(range)
  const startS = [first, hours, last].find((span) => span !== null)?.fromS
  if (startS === undefined) return
  if (startS * 1_000 < sumsFromMs) {
    throw notKept(
      '/from',
      'Sums are kept from {keptFrom} on (RETENTION_SUMS_DAYS). Send this time or a later one as `from`.',
      sumsFromMs,
    )
  }
  const [pointer, part] = first !== null && first.fromS * 1_000 < lineItemsFromMs ? ['/from', first] : ['/to', last]
  if (part === null || part.fromS * 1_000 >= lineItemsFromMs) return
  throw notKept(
    pointer,
    'Before {keptFrom} only sums of whole hours are kept (RETENTION_LINE_ITEMS_DAYS). Send `from` and `to` at the start of an hour.',
    lineItemsFromMs,
  )
}
