/** Port of statements: what a consumer used in a month, per API and price. */

export interface StatementQuery {
  readonly tenant: string
  readonly consumer: string
  /** First millisecond of the month. */
  readonly monthMs: number
  readonly excludeApi: string
  readonly nowMs: number
}

/** Decimal strings are exact. */
export interface StatementLine {
  readonly api: string
  /** Empty: no price was declared. */
  readonly currency: string
  /** The price of one resource unit. */
  readonly price: string
  readonly calls: number
  readonly units: string
  readonly amount: string
}

export interface StoredStatement {
  /** When the month was closed; null: it is open. */
  readonly closedMs: number | null
  /** Unchangeable once the month is closed. */
  readonly lines: readonly StatementLine[]
  /** Usage of a closed month that arrived later. */
  readonly corrections: readonly StatementLine[]
}

export interface StatementStore {
  /** Rejects with `Problem('unavailable')` if the statement has too many lines. */
  read(query: StatementQuery, signal?: AbortSignal): Promise<StoredStatement>
  /** Closes the months that ended at least a day ago. */
  close(nowMs: number, signal?: AbortSignal): Promise<void>
}
