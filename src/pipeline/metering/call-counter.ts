/**
 * Counts calls by API, outcome and status class, for the metrics.
 *
 * The inner loop is arithmetic on arrays, as in the meter: each attribution is mapped to the number of its API once per
 * segment, and a record costs one addition. The catalogue bounds the number of series.
 */

import { IS_NOTE, OUTCOMES } from '../../foundation/domain/outcome.ts'
import type { RecordBatch } from '../../storage/spool/record-batch.ts'

export interface CountedCalls {
  readonly api: string
  readonly outcome: string
  /** `2xx` to `5xx`. */
  readonly status: string
  readonly calls: number
}

export interface CallCounter {
  add(batch: RecordBatch): void
  /** Returns the calls that were counted since the last `take`. */
  take(): readonly CountedCalls[]
}

const CLASSES = 6
const CELLS = OUTCOMES.length * CLASSES
const SEGMENTS_MAX = 256

export function createCallCounter(): CallCounter {
  const apis: string[] = []
  const numbers = new Map<string, number>()
  const bySegment = new Map<number, number[]>()
  let cells = new Float64Array(CELLS)

  function apisOf({ segmentKey, attributions }: RecordBatch): readonly number[] {
    let known = bySegment.get(segmentKey)
    if (known === undefined) {
      if (bySegment.size >= SEGMENTS_MAX) bySegment.clear()
      bySegment.set(segmentKey, (known = []))
    }
    while (known.length < attributions.length) known.push(numberOf(attributions[known.length]!.api))
    return known
  }

  function numberOf(api: string): number {
    let number = numbers.get(api)
    if (number === undefined) {
      number = apis.push(api) - 1
      numbers.set(api, number)
      if (apis.length * CELLS > cells.length) {
        const grown = new Float64Array(cells.length * 2)
        grown.set(cells)
        cells = grown
      }
    }
    return number
  }

  return {
    add(batch) {
      const numbersOf = apisOf(batch)
      for (let index = 0; index < batch.count; index++) {
        const status = Math.min(CLASSES - 1, Math.floor(batch.status(index) / 100))
        cells[numbersOf[batch.attributionId(index)]! * CELLS + batch.outcome(index) * CLASSES + status]! += 1
      }
    },
    take() {
      const counted: CountedCalls[] = []
      for (let cell = 0; cell < apis.length * CELLS; cell++) {
        const calls = cells[cell]!
        if (calls === 0) continue
        cells[cell] = 0
        const within = cell % CELLS
        const outcome = Math.floor(within / CLASSES)
        // A score or a drift is no call.
        if (IS_NOTE[outcome] === true) continue
        const status = `${within % CLASSES}xx`
        counted.push({ api: apis[(cell - within) / CELLS]!, outcome: OUTCOMES[outcome]!, status, calls })
      }
      return counted
    },
  }
}
