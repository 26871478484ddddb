import { describe, expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import {
  ACME,
  base64,
  openCatalogueOn,
  openTestCatalogue,
  orders,
  publishApi,
} from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const version = (name: string) => base64(orders({ version: name }))

/** Two nodes on one registry; the first asks the second. */
async function openTwo() {
  const one = openTestCatalogue()
  const clock = createFakeClock(0)
  const { registry, vault, clock: time } = one
  const other = openCatalogueOn({ registry, vault, time, after: clock.after })
  const { proxy } = await publishApi(one)
  await other.proxies.follow(API)
  other.gateway.calls.length = 0
  const answers: (string | null)[] = []
  one.nodes.ask = async (request) => {
    const reason = await other.proxies.prepare(request)
    answers.push(reason)
    return reason === null ? [] : [{ node: 'other', reason }]
  }
  return { one, other, proxy, clock, answers }
}

const stage = ({ proxies }: ReturnType<typeof openTestCatalogue>, name: string) =>
  proxies.stage(ACME, { api: API, specification: version(name) })

describe('an activation on one of several nodes', () => {
  it('is committed when another node has compiled the revision, which that node then swaps in', async () => {
    const { one, other, proxy, clock } = await openTwo()
    await stage(one, '1.3.0')
    one.gateway.onPrepare = async () => expect(other.gateway.calls).toEqual([])
    await one.proxies.activate(ACME, proxy)
    expect(other.gateway.calls).toEqual(['prepare orders-v1 2'])
    await other.proxies.follow(API)
    expect(other.gateway.calls).toEqual(['prepare orders-v1 2', 'swap orders-v1 2'])
    expect(other.gateway.prepared.at(-1)).toEqual(one.gateway.prepared.at(-1))
    expect(clock.pending).toBe(0)
  })

  it('is refused with the name of a node that cannot compile it, and changes nothing anywhere', async () => {
    const { one, other, proxy, clock } = await openTwo()
    await stage(one, '1.3.0')
    const end = await one.registry.end()
    other.gateway.onPrepare = async () => {
      throw new Problem('specification_invalid', 'Too many schemas.')
    }
    one.gateway.calls.length = 0
    await expect(one.proxies.activate(ACME, proxy)).rejects.toMatchObject({
      code: 'revision_unavailable',
      message: 'The node other cannot prepare the revision: Too many schemas.',
      extensions: { node: 'other' },
    })
    expect(one.gateway.calls).toEqual(['prepare orders-v1 2', 'abort orders-v1 2'])
    expect(await one.registry.end()).toBe(end)
    await other.proxies.follow(API)
    expect(other.gateway.calls).toEqual(['prepare orders-v1 2'])
    expect(clock.pending).toBe(0)
    await one.proxies.activate(ACME, proxy)
    await other.proxies.follow(API)
    expect(other.gateway.calls.at(-1)).toBe('swap orders-v1 2')
  })

  it('does not tell the caller about internal faults of another node', async () => {
    const { one, other, proxy } = await openTwo()
    await stage(one, '1.3.0')
    other.gateway.onPrepare = async () => {
      throw new Error('ENOENT /etc/secret')
    }
    await expect(one.proxies.activate(ACME, proxy)).rejects.toThrow(/internal fault, which its log has$/)
    expect(await other.proxies.prepare('no JSON')).toBe('an internal fault, which its log has')
    expect(await other.proxies.prepare('null')).toBe('an internal fault, which its log has')
  })

  it('discards what was prepared after half a minute, and when the API is prepared again', async () => {
    const { one, other, proxy, clock } = await openTwo()
    const { ask } = one.nodes
    one.nodes.ask = async (request) => {
      await ask(request)
      return [{ node: 'third', reason: 'no.' }]
    }
    await stage(one, '1.3.0')
    await expect(one.proxies.activate(ACME, proxy)).rejects.toThrow('third')
    await stage(one, '1.4.0')
    await expect(one.proxies.activate(ACME, proxy)).rejects.toThrow('third')
    expect(other.gateway.calls).toEqual(['prepare orders-v1 2', 'prepare orders-v1 3', 'abort orders-v1 2'])
    await clock.advance(29_999)
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    expect(other.gateway.calls.at(-1)).toBe('abort orders-v1 3')
    expect(clock.pending).toBe(0)
  })

  it('never serves what was prepared if the registry has something else', async () => {
    const { one, other, proxy } = await openTwo()
    const { ask } = one.nodes
    one.nodes.ask = (request) => ask(request.replaceAll('orders.example', 'elsewhere.example'))
    await stage(one, '1.3.0')
    await one.proxies.activate(ACME, proxy)
    await other.proxies.follow(API)
    expect(other.gateway.calls).toEqual(['prepare orders-v1 2', 'prepare orders-v1 2', 'swap orders-v1 2'])
    expect(other.gateway.prepared.map(({ plan }) => plan.backend?.origin)).toEqual([
      'https://orders.example',
      'https://elsewhere.example',
      'https://orders.example',
    ])
  })

  it('keeps at most eight revisions of a tenant, and refuses more', async () => {
    const { one, other } = await openTwo()
    const requests: string[] = []
    one.nodes.ask = async (request) => {
      requests.push(request)
      return [{ node: 'third', reason: 'no.' }]
    }
    for (let major = 2; major <= 10; major++) {
      const specification = version(`${major}.0.0`)
      const { id } = await one.proxies.stage(ACME, { api: `orders-v${major}`, specification })
      await expect(one.proxies.activate(ACME, id)).rejects.toThrow('third')
    }
    const answers = await Promise.all(requests.map((request) => other.proxies.prepare(request)))
    expect(answers.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => null))
    expect(answers[8]).toMatch(/^it prepares too many revisions/)
    const [first = ''] = requests
    expect(await other.proxies.prepare(first.replace('"tenant":"acme"', '"tenant":"rival"'))).not.toMatch(/too many/)
  })

  it('lets a retirement take effect although another node cannot compile the API', async () => {
    const { one } = await openTwo()
    one.nodes.ask = async () => [{ node: 'other', reason: 'no.' }]
    await one.retirement.deprecate(ACME, API, { retirementDate: '2027-09-01' })
    expect(one.gateway.prepared.at(-1)?.plan.state).toBe('Deprecated')
  })
})
