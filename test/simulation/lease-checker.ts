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
  readonly #overdrafts = new Map<string, number>()
  /** A bucket for each value that was in force, with all calls since it first was. */
  readonly #buckets = new Map<string, { readonly value: number; level: number; sinceMs: number }[]>()
  readonly #running = new Map<string, number>()

  admitTotal(key: string, startMs: number, { value }: Pick<Declared, 'value'>, cost = 1): void {
    const place = `${key} ${startMs}`
    const calls = (this.#windows.get(place) ?? 0) + cost
    this.#windows.set(place, calls)
    this.admitted++
    const limit = value + (this.#overdrafts.get(place) ?? 0)
    if (calls > limit) throw new OverAdmission(`${calls} of ${limit} calls in the window of ${key} at ${startMs}`)
  }

  /** Units that a call has used beyond its cost, which may exceed the limit. */
  overdraw(key: string, startMs: number, units: number): void {
    const place = `${key} ${startMs}`
    this.#windows.set(place, this.#windows.get(place)! + units)
    this.#overdrafts.set(place, (this.#overdrafts.get(place) ?? 0) + units)
  }

  giveBack(key: string, startMs: number, cost: number): void {
    const place = `${key} ${startMs}`
    this.#windows.set(place, this.#windows.get(place)! - cost)
  }

  /** In any interval the highest limit that was in force in it holds. Rates are only lowered, so that is the one at its begin. */
  admitRate(key: string, nowMs: number, { value, spanMs }: Declared): void {
    const buckets = this.#buckets.get(key) ?? []
    this.#buckets.set(key, buckets)
    if (buckets.at(-1)?.value !== value) buckets.push({ value, level: 0, sinceMs: nowMs })
    this.admitted++
    for (const bucket of buckets) {
      bucket.level = Math.max(0, bucket.level - (nowMs - bucket.sinceMs) * bucket.value) + spanMs
      bucket.sinceMs = nowMs
      if (bucket.level > bucket.value * spanMs) {
        throw new OverAdmission(`${bucket.level / spanMs} of ${bucket.value} calls in the bucket of ${key}`)
      }
    }
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
}
