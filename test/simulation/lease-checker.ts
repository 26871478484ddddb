/**
 * The declaration itself, in true time: how many calls may be admitted, whichever node admits them.
 *
 * While nodes have not acknowledged a lower value, the highest of their values is the limit.
 */

export interface Declared {
  readonly value: number
  /** Of a rate. */
  readonly spanMs: number
}

export class OverAdmission extends Error {
  override readonly name = 'OverAdmission'
}

/** Units of one call of a rate are the span in milliseconds, and a millisecond leaks the value, so that all numbers are whole. */
export class LeaseChecker {
  admitted = 0
  readonly #windows = new Map<string, number>()
  readonly #levels = new Map<string, { level: number; sinceMs: number }>()
  readonly #running = new Map<string, number>()

  admitTotal(key: string, startMs: number, { value }: Declared): void {
    const place = `${key} ${startMs}`
    const calls = (this.#windows.get(place) ?? 0) + 1
    this.#windows.set(place, calls)
    this.admitted++
    if (calls > value) throw new OverAdmission(`${calls} of ${value} calls in the window of ${key} at ${startMs}`)
  }

  admitRate(key: string, nowMs: number, { value, spanMs }: Declared): void {
    const bucket = this.#levels.get(key) ?? { level: 0, sinceMs: nowMs }
    this.leak(key, nowMs, value)
    const level = (this.#levels.get(key) ?? bucket).level + spanMs
    this.#levels.set(key, { level, sinceMs: nowMs })
    this.admitted++
    if (level > value * spanMs) throw new OverAdmission(`${level / spanMs} of ${value} calls in the bucket of ${key}`)
  }

  /** Drains the bucket at the rate that was valid until now. */
  leak(key: string, nowMs: number, value: number): void {
    const bucket = this.#levels.get(key)
    if (bucket === undefined) return
    bucket.level = Math.max(0, bucket.level - (nowMs - bucket.sinceMs) * value)
    bucket.sinceMs = nowMs
  }

  /** A bucket that is fuller than a lower limit allows is full: the limit bounds the calls from now on. */
  lower(key: string, { value, spanMs }: Declared): void {
    const bucket = this.#levels.get(key)
    if (bucket !== undefined) bucket.level = Math.min(bucket.level, value * spanMs)
  }

  beginCall(key: string, { value }: Declared): void {
    const calls = (this.#running.get(key) ?? 0) + 1
    this.#running.set(key, calls)
    this.admitted++
    if (calls > value) throw new OverAdmission(`${calls} of ${value} calls of ${key} at once`)
  }

  endCall(key: string): void {
    this.#running.set(key, (this.#running.get(key) ?? 0) - 1)
  }

  countIn(key: string, startMs: number): number {
    return this.#windows.get(`${key} ${startMs}`) ?? 0
  }
}
