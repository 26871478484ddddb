/**
 * `http.server.request.duration` of all calls, by the semantic conventions.
 *
 * Records are added as they are read, and count once their position is committed: a record that is read again after a failure counts
 * once. The number of series is bounded; calls of further ones are counted in one series with `otel.metric.overflow`.
 */

import type { Attribution } from '../../foundation/domain/attribution.ts'
import { routeOf, sentStatus, serverError } from './http-attributes.ts'

export const BOUNDARIES: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const SERIES_MAX = 2_000
const OVERFLOW: Readonly<Record<string, boolean>> = { 'otel.metric.overflow': true }

export type SeriesAttributes = Readonly<Record<string, string | number | boolean>>

class Series {
  readonly attributes: SeriesAttributes
  readonly counts = new Array<number>(BOUNDARIES.length + 1).fill(0)
  sum = 0
  readonly pendingCounts = new Array<number>(BOUNDARIES.length + 1).fill(0)
  pendingSum = 0

  constructor(attributes: SeriesAttributes) {
    this.attributes = attributes
  }

  add(seconds: number): void {
    const at = BOUNDARIES.findIndex((boundary) => seconds <= boundary)
    this.pendingCounts[at < 0 ? BOUNDARIES.length : at]!++
    this.pendingSum += seconds
  }

  commit(): void {
    this.pendingCounts.forEach((count, index) => (this.counts[index]! += count))
    this.sum += this.pendingSum
    this.reset()
  }

  reset(): void {
    this.pendingCounts.fill(0)
    this.pendingSum = 0
  }
}

export interface DurationSeries {
  readonly attributes: SeriesAttributes
  readonly counts: readonly number[]
  readonly sum: number
  readonly count: number
}

export class DurationHistogram {
  readonly #scheme: string
  readonly #byText = new Map<string, Series>()
  /** Attributions of one segment are the same objects. */
  #byAttribution = new WeakMap<Attribution, Map<number, Series>>()
  readonly #touched = new Set<Series>()

  constructor(scheme: string) {
    this.#scheme = scheme
  }

  add(attribution: Attribution, status: number, outcome: number, seconds: number): void {
    const series = this.#seriesOf(attribution, status, outcome)
    series.add(seconds)
    this.#touched.add(series)
  }

  commit(): void {
    for (const series of this.#touched) series.commit()
    this.#touched.clear()
  }

  /** Discards what was not committed. */
  reset(): void {
    for (const series of this.#touched) series.reset()
    this.#touched.clear()
  }

  /** Returns the series that have counted a call. */
  read(): readonly DurationSeries[] {
    return [...this.#byText.values()]
      .map(({ attributes, counts, sum }) => ({
        attributes,
        counts: [...counts],
        sum,
        count: counts.reduce((total, each) => total + each, 0),
      }))
      .filter(({ count }) => count > 0)
  }

  #seriesOf(attribution: Attribution, status: number, outcome: number): Series {
    let known = this.#byAttribution.get(attribution)
    if (known === undefined) this.#byAttribution.set(attribution, (known = new Map()))
    const number = (status << 8) | outcome
    let series = known.get(number)
    if (series === undefined) known.set(number, (series = this.#find(attribution, status, outcome)))
    return series
  }

  #find(attribution: Attribution, status: number, outcome: number): Series {
    const { method, route } = routeOf(attribution)
    const sent = sentStatus(status, outcome)
    const error = serverError(status, outcome)
    const attributes = {
      'http.request.method': method,
      'url.scheme': this.#scheme,
      ...(route !== null && { 'http.route': route }),
      ...(sent !== null && { 'http.response.status_code': sent }),
      ...(error !== null && { 'error.type': error }),
      'tollgate.tenant': attribution.tenant,
      'tollgate.api': attribution.api,
    }
    const text = JSON.stringify(attributes)
    const found = this.#byText.get(text)
    if (found !== undefined) return found
    const isFull = this.#byText.size >= SERIES_MAX
    const [key, chosen] = isFull ? ['overflow', OVERFLOW] : [text, attributes]
    const series = this.#byText.get(key) ?? new Series(chosen)
    this.#byText.set(key, series)
    return series
  }
}
