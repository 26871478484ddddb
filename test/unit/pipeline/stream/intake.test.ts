import { describe, expect, it } from 'vitest'
import { createIntake } from '../../../../src/pipeline/stream/intake.ts'
import type { RecordBatch } from '../../../../src/storage/spool/record-batch.ts'
import type { SpoolPosition } from '../../../../src/storage/store/checkpoint.ts'
import { createRandom } from '../../../random.ts'
import { attribution, call, START_MS } from '../../../fixtures/calls.ts'
import { createMemorySpool, type MemorySpool } from '../../../fixtures/memory-spool.ts'

/** Batches of a size that takes several stretches to read. */
const BATCHES = 40
const RECORDS = 4_000

function fill(spool: MemorySpool, random = createRandom(1)): void {
  const by = attribution()
  for (let batch = 0; batch < BATCHES; batch++) {
    const source = `gateway-${random.below(2)}`
    const records = Array.from({ length: RECORDS }, () => call(by, START_MS + batch))
    spool.append(source, records)
    if (random.below(4) === 0) spool.roll(source)
  }
}

function open(spool: MemorySpool, from: { metered?: SpoolPosition; evaluated?: SpoolPosition } = {}) {
  const seen = { metered: 0, evaluated: 0 }
  const counted: string[] = []
  const state = { isFull: false }
  const intake = createIntake({
    reader: spool,
    metered: from.metered ?? {},
    evaluated: from.evaluated ?? {},
    meter: (batch: RecordBatch) => (seen.metered += batch.count),
    evaluate: (batch: RecordBatch) => (seen.evaluated += batch.count),
    isFull: () => state.isFull,
    count: (reason) => counted.push(reason),
  })
  const readAll = () => {
    for (let reads = 0; intake.read(); reads++) if (reads > 1_000) throw new Error('reads without end')
  }
  return { intake, seen, counted, state, readAll }
}

describe('the intake', () => {
  it('reads each record once for metering and risk together, in stretches', () => {
    const spool = createMemorySpool()
    fill(spool)
    const { intake, seen, readAll } = open(spool)
    intake.read()
    expect(seen.metered).toBeLessThan(BATCHES * RECORDS)
    expect(intake.isLevel).toBe(false)
    readAll()

    expect(seen).toEqual({ metered: BATCHES * RECORDS, evaluated: BATCHES * RECORDS })
    expect(intake.isLevel).toBe(true)
    expect(intake.metered).toEqual(intake.evaluated)
  })

  it('continues for risk while metering is full, and lets metering follow', () => {
    const spool = createMemorySpool()
    fill(spool)
    const { seen, counted, state, readAll } = open(spool)
    state.isFull = true
    readAll()
    expect(seen).toEqual({ metered: 0, evaluated: BATCHES * RECORDS })
    expect(counted).toEqual(['metering_held_back'])
    state.isFull = false
    readAll()

    expect(seen).toEqual({ metered: BATCHES * RECORDS, evaluated: BATCHES * RECORDS })
  })

  it('reads each record once for metering and once for risk, from any two committed positions', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = createRandom(seed)
      const spool = createMemorySpool()
      fill(spool, random)
      const before = [random.below(12), random.below(12)].map((reads) => {
        const { intake, seen } = open(spool)
        for (let read = 0; read < reads; read++) intake.read()
        return { position: intake.metered, records: seen.metered }
      })
      const [metered, evaluated] = before
      if (metered === undefined || evaluated === undefined) throw new Error('two positions')
      const { seen, state, readAll } = open(spool, { metered: metered.position, evaluated: evaluated.position })
      state.isFull = random.below(2) === 0
      readAll()
      state.isFull = false
      readAll()

      const all = BATCHES * RECORDS
      expect(seen, `seed ${seed}`).toEqual({ metered: all - metered.records, evaluated: all - evaluated.records })
    }
  })

  it('skips a stretch that is no longer readable, and continues after it', () => {
    const spool = createMemorySpool()
    spool.append('one', [call(attribution(), START_MS)])
    const gone = { one: { segment: 7, offset: 3 } }
    const { intake, readAll } = open(spool, { evaluated: gone })
    spool.release({ one: { segment: 8, offset: 0 } })
    readAll()

    expect(intake.metered).toEqual(intake.evaluated)
  })
})
