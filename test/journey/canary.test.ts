/**
 * A canary under load: no call fails, each subscription stays at one revision, and every call is in the bill.
 *
 * Each revision has a backend of its own, which answers its name.
 */

import { Agent } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { declareLimit, publishAs } from './limited-calls.ts'
import { billOf } from './load.ts'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'

const CALLERS = 24
const CALLS = 20
const STABLE = 'stable'
const CANARY = 'canary'

interface ShownProxy {
  readonly activeRevision: number
  readonly stagingRevision: number | null
  readonly canary: { readonly revision: number; readonly percent?: number } | null
}

let service: Service
let backends: readonly [LedgerBackend, LedgerBackend]
let callers: readonly Enrolled[]
let proxy: string
let traffic: ReturnType<typeof startTraffic>

beforeAll(async () => {
  backends = await Promise.all([startLedgerBackend(STABLE), startLedgerBackend(CANARY)])
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
  proxy = await publish(service, 'ledger-v1', ledgerDocument(), backends[0].url)
  callers = await Promise.all(
    Array.from({ length: CALLERS }, (_, index) => enrol(service, 'ledger-v1', { name: `C${index}` })),
  )
  traffic = startTraffic(callers)
})

afterAll(async () => {
  await traffic.stop()
  await service.remove()
  await Promise.all(backends.map((backend) => backend.close()))
})

/** One connection per caller; by caller the answers that count since `reset`, and every call since the start. */
function startTraffic(of: readonly Enrolled[]) {
  const agent = new Agent({ connections: of.length, pipelining: 1 })
  const failures: string[] = []
  const sent = of.map(() => 0)
  let answers: Set<string>[] = []
  let served: number[] = []
  let generation = 0
  let isOver = false

  async function client({ apiKey }: Enrolled, index: number): Promise<void> {
    while (!isOver) {
      const began = generation
      sent[index]!++
      const { statusCode, body } = await agent.request({
        origin: service.gatewayUrl,
        path: '/ledger-v1/entries',
        method: 'GET',
        headers: { 'x-api-key': apiKey },
      })
      const text = await body.text()
      if (statusCode !== 200) failures.push(`${statusCode} ${text}`)
      if (began !== generation) continue
      answers[index]!.add((JSON.parse(text) as { answer: string }).answer)
      served[index]!++
    }
  }

  const reset = (): void => {
    generation++
    answers = of.map(() => new Set())
    served = of.map(() => 0)
  }
  reset()
  const running = Promise.all(of.map(client))
  return {
    failures,
    sent,
    /** Resolves with what each caller was answered in calls that begin from now on. */
    async observed(): Promise<readonly string[]> {
      reset()
      const least = (): number => Math.min(...served)
      await expect.poll(least, { timeout: 60_000, interval: 20 }).toBeGreaterThanOrEqual(CALLS)
      return answers.map((names) => [...names].sort().join('+'))
    },
    async stop() {
      isOver = true
      await running
      await agent.destroy()
    },
  }
}

async function stage(version: string): Promise<void> {
  const specification = Buffer.from(JSON.stringify(ledgerDocument(version))).toString('base64')
  await service.platform.post('/v1/proxies', { api: 'ledger-v1', specification, backend: { url: backends[1].url } })
}

const activate = (body?: object): Promise<ShownProxy> =>
  service.platform.post<ShownProxy>(`/v1/proxies/${proxy}/activate`, body)
const chosenBy = (answers: readonly string[]): readonly number[] =>
  answers.flatMap((answer, index) => (answer === CANARY ? [index] : []))

describe('a canary under load', () => {
  it('serves the chosen consumers, and nobody once it is discarded', async () => {
    await stage('1.1.0')
    expect(new Set(await traffic.observed())).toEqual(new Set([STABLE]))
    const consumers = [callers[2]!.consumer, callers[5]!.consumer]
    expect(await activate({ consumers })).toMatchObject({
      activeRevision: 1,
      stagingRevision: 2,
      canary: { revision: 2, consumers },
    })
    expect(chosenBy(await traffic.observed())).toEqual([2, 5])

    const discarded = await service.platform.post<ShownProxy>(`/v1/proxies/${proxy}/discard`)
    expect(discarded).toMatchObject({ activeRevision: 1, stagingRevision: null, canary: null })
    expect(new Set(await traffic.observed())).toEqual(new Set([STABLE]))
    expect(traffic.failures).toEqual([])
  })

  it('serves a growing share of the subscriptions, each by one revision, until it serves all', async () => {
    await stage('1.2.0')
    expect(await activate({ percent: 20 })).toMatchObject({ canary: { revision: 3, percent: 20 } })
    const few = chosenBy(await traffic.observed())
    expect((await activate({ percent: 60 })).canary).toMatchObject({ percent: 60 })
    const answers = await traffic.observed()
    const many = chosenBy(answers)
    expect(new Set(answers)).toEqual(new Set([STABLE, CANARY]))
    expect(many).toEqual(expect.arrayContaining([...few]))
    expect(many.length).toBeGreaterThan(few.length)

    const promoted = await activate()
    expect(promoted).toMatchObject({ activeRevision: 3, stagingRevision: null, canary: null })
    expect(new Set(await traffic.observed())).toEqual(new Set([CANARY]))
    expect(traffic.failures).toEqual([])
  })

  it('has a line of its own in every bill, exact for each revision', async () => {
    await traffic.stop()
    expect(traffic.failures).toEqual([])
    const sent = new Map(callers.map(({ consumer }, index) => [consumer, traffic.sent[index]!]))
    await expect.poll(() => billOf(service), { timeout: 60_000, interval: 200 }).toEqual(sent)
    const [stable = 0, canary = 0] = backends.map(({ seen }) => seen.get(''))
    expect(stable + canary).toBe([...sent.values()].reduce((sum, calls) => sum + calls, 0))
    const { items } = await service.platform.get<{ items: readonly { revision: number; calls: number }[] }>(
      '/v1/summaries?api=ledger-v1&groupBy=revision&from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&limit=500',
    )
    const byRevision = new Map(items.map(({ revision, calls }) => [revision, calls]))
    expect([...byRevision.keys()].sort()).toEqual([1, 2, 3])
    expect(byRevision.get(1)).toBe(stable)
    expect(byRevision.get(2)! + byRevision.get(3)!).toBe(canary)
  })

  it('counts against the same limit as the active revision, also when the limit changes meanwhile', async () => {
    await publishAs(service, 'Limited', backends[0].url)
    await declareLimit(service, { totals: { month: 6 } }, 'limited-v1')
    const { consumer, apiKey } = await enrol(service, 'limited-v1', { name: 'Limited' })
    const { items } = await service.platform.get<{ items: readonly { id: string }[] }>('/v1/proxies?api=limited-v1')
    const path = `/v1/proxies/${items[0]?.id}`
    const call = async (times: number): Promise<readonly string[]> => {
      const answers: string[] = []
      for (let count = 0; count < times; count++) {
        const url = `${service.gatewayUrl}/limited-v1/entries`
        const response = await fetch(url, { headers: { 'x-api-key': apiKey } })
        const { answer = '' } = (await response.json()) as { answer?: string }
        answers.push(`${response.status} ${answer}`.trim())
      }
      return answers
    }
    expect(await call(3)).toEqual(Array.from({ length: 3 }, () => '200 stable'))
    const staged = { api: 'limited-v1', fromRevision: 1, backend: { url: backends[1].url } }
    await service.platform.post('/v1/proxies', staged)
    await service.platform.post(`${path}/activate`, { consumers: [consumer] })
    expect(await call(4)).toEqual([...Array.from({ length: 3 }, () => '200 canary'), '429'])
    await declareLimit(service, { totals: { month: 8 } }, 'limited-v1')
    expect(await call(1)).toEqual(['200 canary'])
    await service.platform.post(`${path}/discard`)
    expect(await call(2)).toEqual(['200 stable', '429'])
  })

  it('goes on after the service was killed', async () => {
    await service.platform.post('/v1/proxies', { api: 'ledger-v1', fromRevision: 1, backend: { url: backends[0].url } })
    const before = await activate({ percent: 50 })
    const { warnings: _, ...shown } = before as ShownProxy & { readonly warnings: unknown }
    const answers = async (): Promise<readonly string[]> =>
      Promise.all(
        callers.map(async ({ apiKey }) => {
          const response = await fetch(`${service.gatewayUrl}/ledger-v1/entries`, { headers: { 'x-api-key': apiKey } })
          return ((await response.json()) as { answer: string }).answer
        }),
      )
    const chosen = await answers()
    await service.kill()
    await service.start()
    expect(await service.platform.get(`/v1/proxies/${proxy}`)).toEqual(shown)
    expect(await answers()).toEqual(chosen)
  })
})
