/** Records that are missing, or may be: what every report of damage says. */
export interface Damage {
  /** Path relative to `DATA_DIR`. */
  readonly file: string
  /** One plain sentence. */
  readonly what: string
  /** Records that are missing. */
  readonly records: number
  /** False: `records` is a bound and not the number. */
  readonly isExact: boolean
  /** Time range of what is missing, as far as it is known. */
  readonly fromMs: number | null
  readonly toMs: number | null
}
