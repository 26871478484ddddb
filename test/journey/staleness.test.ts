/** MAX_STALENESS_SECONDS: no node serves a call by an older configuration after the answer of a command, also when it is cut off. */

// @module-tag postgres
// @module-tag redis-server

import { afterAll, beforeAll, expect, it } from 'vitest'
import { createProxyBefore, type FaultyProxy } from '../fixtures/faulty-proxy.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { enrol, publish, type Service, TWO_THREADS } from './service.ts'
import { callOne, pendingAfter, startSeveralNodes, type SeveralNodes } from './several-nodes.ts'

const PATH = '/ledger-v1/entries?n=1'
const MINUTE = 60_000
/** Enough for each of two threads to accept some. */
const CONNECTIONS = 24
let several: SeveralNodes
let backend: LedgerBackend
/** Between the node `c` and PostgreSQL. */
let proxy: FaultyProxy

const routeOf = async (name: string, databaseUrl: string): Promise<string> => {
  if (name !== 'c') return databaseUrl
  const route = await createProxyBefore(databaseUrl)
  proxy = route.proxy
  return route.url
}

beforeAll(async () => {
  backend = await startLedgerBackend('first')
  several = await startSeveralNodes(['a', 'b', 'c'], { ...TWO_THREADS, MAX_STALENESS_SECONDS: '5' }, { routeOf })
  await publish(several.nodes[0]!, 'ledger-v1', ledgerDocument(), backend.url)
}, 2 * MINUTE)

afterAll(async () => {
  await several.remove()
  await Promise.all([proxy.remove(), backend.close()])
})

async function readiness({ baseUrl }: Service): Promise<number> {
  return (await fetch(`${baseUrl}/readyz`)).status
}

it(
  'a node that is cut off serves no call after the answer that revokes its caller',
  { timeout: 3 * MINUTE },
  async () => {
    const [a, , c] = several.nodes as readonly [Service, Service, Service]
    const { subscription, apiKey } = await enrol(a, 'ledger-v1', { name: 'Partition' })
    expect(await several.callAll(PATH, apiKey)).toEqual([200, 200, 200])
    // A thread asks the registry for a caller that it does not know yet.
    const onAllThreads = await Promise.all(Array.from({ length: CONNECTIONS }, () => callOne(c, PATH, apiKey)))
    expect(new Set(onAllThreads)).toEqual(new Set([200]))
    proxy.judge(() => 'drop')

    let isAnswered = false
    const [before, after]: [Set<number>, Set<number>] = [new Set(), new Set()]
    const load = Array.from({ length: 4 }, async () => {
      for (let late = 0; late < 50;) {
        const isLate = isAnswered
        const status = await callOne(c, PATH, apiKey)
        if (isLate) late++
        ;(isLate ? after : before).add(status)
      }
    })
    const pending = await pendingAfter(a, `/v1/subscriptions/${subscription}/suspend`)
    isAnswered = true
    await Promise.all(load)

    expect(pending).toBe('c')
    expect(before).toContain(200)
    expect(after).toEqual(new Set([503]))
    expect(await several.callAll(PATH, apiKey)).toEqual([403, 403, 503])
    expect([await readiness(a), await readiness(c)]).toEqual([200, 503])

    proxy.judge(null)
    proxy.cut()
    await expect.poll(() => callOne(c, PATH, apiKey), { timeout: MINUTE }).toBe(403)
    await expect.poll(() => readiness(c), { timeout: MINUTE }).toBe(200)
    expect(await pendingAfter(a, `/v1/subscriptions/${subscription}/resume`)).toBe('')
    expect(await several.callAll(PATH, apiKey)).toEqual([200, 200, 200])
  },
)
