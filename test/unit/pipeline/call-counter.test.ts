import { describe, expect, it } from 'vitest'
import type { RecordBatch } from '../../../src/record/record-batch.ts'
import { OUTCOMES, type CallRecord } from '../../../src/record/call-record.ts'
import { createCallCounter } from '../../../src/pipeline/call-counter.ts'
import { createRandom } from '../../random.ts'
import { attribution, call, START_MS } from './calls.ts'
import { createMemorySpool } from './memory-spool.ts'

const SEED = Date.now() % 1_000_000
const by = (api: string) => attribution({ api })

function count(counter: ReturnType<typeof createCallCounter>, sources: Record<string, readonly CallRecord[]>): void {
  const spool = createMemorySpool()
  for (const [source, records] of Object.entries(sources)) spool.append(source, records)
  spool.read({}, (batch: RecordBatch) => counter.add(batch))
}

describe('calls for the metrics', () => {
  it('are counted by API, outcome and class of status, and each once', () => {
    const counter = createCallCounter()
    const [a, b] = [by('a-v1'), by('b-v1')]
    count(counter, {
      one: [
        call(a, START_MS),
        call(a, START_MS, 'served', { status: 503 }),
        call(a, START_MS, 'rate_limited', { status: 429 }),
      ],
      two: [call(b, START_MS), call(a, START_MS, 'served', { status: 201 })],
    })
    expect(counter.take()).toEqual(
      expect.arrayContaining([
        { api: 'a-v1', outcome: 'served', status: '2xx', calls: 2 },
        { api: 'a-v1', outcome: 'served', status: '5xx', calls: 1 },
        { api: 'a-v1', outcome: 'rate_limited', status: '4xx', calls: 1 },
        { api: 'b-v1', outcome: 'served', status: '2xx', calls: 1 },
      ]),
    )
    expect(counter.take()).toEqual([])
  })

  it(`agree with a plain count over many APIs and segments (seed ${SEED})`, () => {
    const random = createRandom(SEED)
    const counter = createCallCounter()
    const parties = Array.from({ length: 100 }, (_, index) => by(`api-${index}-v1`))
    for (let round = 0; round < 20; round++) {
      const plain = new Map<string, number>()
      const records = Array.from({ length: 500 }, () => {
        const party = parties[random.below(parties.length)]!
        const outcome = OUTCOMES[random.below(OUTCOMES.length)]!
        const status = 100 + random.below(500)
        const key = `${party.api} ${outcome} ${Math.floor(status / 100)}xx`
        plain.set(key, (plain.get(key) ?? 0) + 1)
        return call(party, START_MS, outcome, { status })
      })
      count(counter, { one: records.slice(0, 200), two: records.slice(200) })
      const counted = counter
        .take()
        .map(({ api, outcome, status, calls }) => [`${api} ${outcome} ${status}`, calls] as const)
      expect(new Map(counted), `round ${round}`).toEqual(plain)
    }
  })
})
