import { describe, expect, it } from 'vitest'
import { IS_NOTE, OUTCOMES } from '../../../../src/foundation/domain/outcome.ts'
import type { CallRecord } from '../../../../src/storage/spool/call-record.ts'
import type { SpoolPosition } from '../../../../src/storage/store/checkpoint.ts'
import { createCallCounter } from '../../../../src/pipeline/metering/call-counter.ts'
import { createRandom } from '../../../random.ts'
import { readSeed } from '../../../random-seed.ts'
import { attribution, call, START_MS } from '../../../fixtures/calls.ts'
import { createMemorySpool } from '../../../fixtures/memory-spool.ts'

const SEED = readSeed(1)
const by = (api: string) => attribution({ api })

/** A counter that continues to read one spool, because segment keys must be unique. */
function open() {
  const counter = createCallCounter()
  const spool = createMemorySpool()
  let position: SpoolPosition = {}
  function count(source: string, records: readonly CallRecord[]): void {
    spool.append(source, records)
    position = spool.read(position, (batch) => counter.add(batch))
  }
  return { count, take: counter.take, roll: spool.roll }
}

describe('the call counter', () => {
  it('counts each call once, by API, outcome and status class', () => {
    const { count, take } = open()
    const [a, b] = [by('a-v1'), by('b-v1')]
    count('one', [
      call(a, START_MS),
      call(a, START_MS, 'served', { status: 503 }),
      call(a, START_MS, 'rate_limited', { status: 429 }),
    ])
    count('two', [call(b, START_MS), call(a, START_MS, 'served', { status: 201 })])
    expect(take()).toEqual(
      expect.arrayContaining([
        { api: 'a-v1', outcome: 'served', status: '2xx', calls: 2 },
        { api: 'a-v1', outcome: 'served', status: '5xx', calls: 1 },
        { api: 'a-v1', outcome: 'rate_limited', status: '4xx', calls: 1 },
        { api: 'b-v1', outcome: 'served', status: '2xx', calls: 1 },
      ]),
    )
    expect(take()).toEqual([])
  })

  it('counts no notes, such as a low score or a drift from the contract', () => {
    const { count, take } = open()
    const notes = OUTCOMES.filter((_, index) => IS_NOTE[index])
    expect(notes).toContain('score_low')
    count(
      'one',
      notes.map((outcome) => call(by('a-v1'), START_MS, outcome, { status: 0 })),
    )
    expect(take()).toEqual([])
  })

  it(`agrees with a plain count over many APIs and segments (seed ${SEED})`, () => {
    const random = createRandom(SEED)
    const { count, take, roll } = open()
    const parties = Array.from({ length: 100 }, (_, index) => by(`api-${index}-v1`))
    for (let round = 0; round < 20; round++) {
      const plain = new Map<string, number>()
      const records = Array.from({ length: 500 }, () => {
        const party = parties[random.below(parties.length)]!
        const outcome = OUTCOMES[random.below(OUTCOMES.length)]!
        const status = 100 + random.below(500)
        const key = `${party.api} ${outcome} ${Math.floor(status / 100)}xx`
        if (IS_NOTE[OUTCOMES.indexOf(outcome)] !== true) plain.set(key, (plain.get(key) ?? 0) + 1)
        return call(party, START_MS, outcome, { status })
      })
      count('one', records.slice(0, 200))
      count('two', records.slice(200))
      if (random.below(3) === 0) roll('one')
      const counted = take().map(({ api, outcome, status, calls }) => [`${api} ${outcome} ${status}`, calls] as const)
      expect(new Map(counted), `round ${round}`).toEqual(plain)
    }
  })
})
