/**
 * Risks of several nodes: calls that are spread over nodes are one episode, every node streams every event once, and no call is lost or
 * counted twice if nodes are killed.
 */

// @module-tag postgres
// @module-tag redis-server

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { executeSql } from '../fixtures/test-postgres.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { readRisks, type RiskReader, type StreamedRisk } from './risk-streams.ts'
import { enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'
import { startSeveralNodes, type SeveralNodes } from './several-nodes.ts'

const PATH = '/ledger-v1/entries?n=1'
const MINUTE = 60_000
const WAIT = { timeout: 30_000, interval: 50 }
/** Kills of the node that advances the episodes. */
const KILLS = Number(process.env['KILLS'] ?? 3)
let several: SeveralNodes
let backend: LedgerBackend
const readers: RiskReader[] = []

interface Risk extends StreamedRisk {
  readonly evidence: { readonly total: number; readonly statuses: Readonly<Record<string, number>> }
}

beforeAll(async () => {
  backend = await startLedgerBackend()
  several = await startSeveralNodes(['a', 'b', 'c'], TWO_THREADS)
  await publish(node(0), 'ledger-v1', ledgerDocument(), backend.url)
}, 2 * MINUTE)

afterAll(async () => {
  for (const reader of readers) reader.close()
  await several.remove()
  await backend.close()
})

function node(turn: number): Service {
  return several.nodes[turn % several.nodes.length]!
}

/** Enrols a consumer whose calls are refused with 403. */
async function enrolRefused(name: string): Promise<Enrolled> {
  const enrolled = await enrol(node(0), 'ledger-v1', { name })
  await node(0).platform.post(`/v1/subscriptions/${enrolled.subscription}/suspend`)
  return enrolled
}

async function call({ gatewayUrl }: Service, { apiKey }: Enrolled): Promise<number> {
  const signal = AbortSignal.timeout(20_000)
  const response = await fetch(gatewayUrl + PATH, { headers: { 'x-api-key': apiKey }, signal })
  await response.arrayBuffer()
  return response.status
}

async function openReader(at: Service, lastEventId?: string): Promise<RiskReader> {
  const reader = await readRisks(at, lastEventId)
  readers.push(reader)
  return reader
}

async function risksOf({ platform }: Service, { consumer }: Enrolled): Promise<readonly Risk[]> {
  return (await platform.get<{ items: readonly Risk[] }>(`/v1/risks?attributedTo=${consumer}`)).items
}

const eventsOf = ({ risks }: RiskReader, { consumer }: Enrolled) =>
  risks.filter(({ attributedTo }) => attributedTo.id === consumer)

const sql = (text: string) => executeSql(several.settings['DATABASE_URL']!, text)

describe('ten refused calls over three nodes', () => {
  it('are one Critical episode at every node, and in the stream of every node', async () => {
    const consumer = await enrolRefused('Spread')
    const streams = await Promise.all(several.nodes.map((each) => openReader(each)))
    for (let turn = 0; turn < 10; turn++) expect(await call(node(turn), consumer)).toBe(403)
    for (const stream of streams) {
      await expect
        .poll(() => eventsOf(stream, consumer).at(-1), WAIT)
        .toMatchObject({ severity: 'Critical', count: 10 })
      expect(new Set(eventsOf(stream, consumer).map(({ riskId }) => riskId)).size).toBe(1)
    }
    for (const each of several.nodes) {
      const risks = await risksOf(each, consumer)
      expect(risks).toMatchObject([{ severity: 'Critical', count: 10, evidence: { total: 10, statuses: { 403: 10 } } }])
    }
    const idsOf = () => streams.map(({ risks }) => risks.map(({ id }) => id).join(' '))
    await expect.poll(() => new Set(idsOf()).size, WAIT).toBe(1)
  })

  it('have one timeline at every node', async () => {
    const consumer = await enrolRefused('Timeline')
    for (let turn = 0; turn < 10; turn++) await call(node(turn), consumer)
    await expect.poll(() => risksOf(node(1), consumer), WAIT).toMatchObject([{ severity: 'Critical' }])
    const [risk] = await risksOf(node(1), consumer)
    const timelines = await Promise.all(
      several.nodes.map(({ platform }) => platform.get<{ timeline: readonly object[] }>(`/v1/risks/${risk!.id}`)),
    )
    expect(timelines[0]!.timeline[0]).toMatchObject({ phase: 'opened' })
    expect(timelines[1]!.timeline).toEqual(timelines[0]!.timeline)
    expect(timelines[2]!.timeline).toEqual(timelines[0]!.timeline)
  })
})

describe('a reader that resumes at another node', () => {
  it('receives every later event once', async () => {
    const first = await openReader(node(0))
    const consumers: Enrolled[] = []
    for (let index = 0; index < 5; index++) {
      const consumer = await enrolRefused(`Resumed ${index}`)
      consumers.push(consumer)
      await call(node(index), consumer)
      await expect.poll(() => eventsOf(first, consumer).length, WAIT).toBeGreaterThan(0)
    }
    const last = eventsOf(first, consumers[1]!)[0]!.id
    const expected = first.risks.map(({ id }) => id).filter((id) => id > last)
    const resumed = await Promise.all([openReader(node(1), last), openReader(node(2), last)])
    for (const { risks } of resumed) {
      await expect.poll(() => risks.slice(0, expected.length).map(({ id }) => id), WAIT).toEqual(expected)
    }
  })
})

describe('a node that advances the episodes', () => {
  it(
    'is replaced when it is killed; no call and no event is lost or repeated',
    { timeout: (2 + KILLS) * MINUTE },
    async () => {
      const consumers = [await enrolRefused('Killed 1'), await enrolRefused('Killed 2')]
      const { rows } = await sql('SELECT position FROM risk_event_end')
      const before = Number(rows[0]!['position'])
      let answered = 0
      for (let round = 0; round < KILLS; round++) {
        const at = await holderOf()
        const stream = await openReader(several.nodes.find((each) => each !== at)!)
        let isKilled = false
        const load = several.nodes.map(async (each) => {
          for (let count = 0; count < 40 || (!isKilled && count < 1_000); count++) {
            const status = await call(each, consumers[count % 2]!).catch(() => 0)
            if (status === 403) answered++
            else if (each === at) return
          }
        })
        await expect.poll(() => answered, WAIT).toBeGreaterThan(20)
        await at.kill()
        isKilled = true
        await Promise.all(load)
        await at.start()
        await expect.poll(() => totalOf(consumers), WAIT).toBeGreaterThanOrEqual(answered)
        expect(stream.risks.map(({ id }) => id)).toEqual([...new Set(stream.risks.map(({ id }) => id))].sort())
      }
      // A call whose answer was lost with its node may be recorded.
      await expect.poll(() => totalOf(consumers), WAIT).toBeGreaterThanOrEqual(answered)
      expect(await totalOf(consumers)).toBeLessThanOrEqual(answered + KILLS)
      for (const consumer of consumers) expect(await risksOf(node(0), consumer)).toHaveLength(1)
      const { rows: events } = await sql(
        `SELECT position, id FROM risk_event WHERE position > ${before} ORDER BY position`,
      )
      expect(events.map(({ position }) => Number(position) - before)).toEqual(events.map((_, index) => index + 1))
      const reader = await openReader(node(1), String(events[0]!['id']))
      await expect
        .poll(() => reader.risks.map(({ id }) => id), WAIT)
        .toEqual(expect.arrayContaining(events.slice(1).map(({ id }) => id)))
      expect(new Set(reader.risks.map(({ id }) => id)).size).toBe(reader.risks.length)
      console.log(`N6  ${KILLS} kills of the node that advances: ${events.length} events, 0 lost, 0 published twice`)
    },
  )
})

async function totalOf(consumers: readonly Enrolled[]): Promise<number> {
  const risks = await Promise.all(consumers.map((consumer) => risksOf(several.nodes[1]!, consumer).catch(() => [])))
  return risks.flat().reduce((sum, { evidence }) => sum + evidence.total, 0)
}

/** The node that has advanced a partition last. */
async function holderOf(): Promise<Service> {
  const { rows } = await sql(`SELECT n.name FROM risk_partition p JOIN node n ON n.incarnation = p.holder
    ORDER BY p.advanced_at DESC LIMIT 1`)
  return several.nodes[['a', 'b', 'c'].indexOf(String(rows[0]!['name']))]!
}
