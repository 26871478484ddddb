/**
 * A report of missing call records: file, number and time range.
 *
 * Each report is logged as an error, counted, and raised as the risk `RecordsDamaged` (`damage-report.ts`).
 */

export interface Damage {
  /** Path relative to `DATA_DIR`. */
  readonly file: string
  /** One plain sentence. */
  readonly what: string
  /** Records that are missing. */
  readonly records: number
  /** False: at least that many are missing. */
  readonly isExact: boolean
  /** True: the records are still readable, but a power cut may lose up to that many. */
  readonly isUncertain?: boolean
  /** Start of the time range of the missing records; null: unknown. */
  readonly fromMs: number | null
  /** End of the time range of the missing records; null: unknown. */
  readonly toMs: number | null
}

export type OnDamage = (damage: Damage) => void

/** Describes number, time range and file of the missing records, for logs and the risk's message. */
export function damageText({ file, records, isExact, isUncertain = false, fromMs, toMs }: Damage): string {
  const number = isUncertain ? `a power cut may take up to ${records} records` : numberText(records, isExact)
  return `${number}${rangeText(fromMs, toMs)} (${file})`
}

/** Merges two reports; file and sentence come from `first`. */
export function mergeDamage(first: Damage, second: Damage): Damage {
  return {
    ...first,
    records: first.records + second.records,
    isExact: first.isExact && second.isExact,
    fromMs: first.fromMs === null || second.fromMs === null ? null : Math.min(first.fromMs, second.fromMs),
    toMs: first.toMs === null || second.toMs === null ? null : Math.max(first.toMs, second.toMs),
  }
}

function numberText(records: number, isExact: boolean): string {
  if (records === 0) return isExact ? 'no records' : 'an unknown number of records'
  const number = `${records} ${records === 1 ? 'record' : 'records'}`
  return isExact ? number : `at least ${number}`
}

function rangeText(fromMs: number | null, toMs: number | null): string {
  if (fromMs === null && toMs === null) return ' of an unknown time'
  if (fromMs === null) return ` from before ${isoTime(toMs)}`
  if (toMs === null) return ` from after ${isoTime(fromMs)}`
  return ` from between ${isoTime(fromMs)} and ${isoTime(toMs)}`
}

const isoTime = (timeMs: number | null): string => new Date(timeMs ?? 0).toISOString()
