import { describe, expect, it } from 'vitest'
import { platformScopes } from '../../../../src/interfaces/platform/operations.ts'
import { StoreUnwritable } from '../../../../src/storage/store/unwritable.ts'
import { createMemoryNodes, listedNode } from '../../../fixtures/memory-nodes.ts'
import { openTestPlatform } from '../../../fixtures/test-platform.ts'

const SILENT = { silentMs: 61_900, isLive: false }

async function setUp(...listed: Parameters<typeof listedNode>[0][]) {
  const nodes = createMemoryNodes(listed.map(listedNode))
  const platform = await openTestPlatform({ nodes })
  const token = platform.token('acme')
  const audited = async () => {
    const { body } = await platform.send('GET', '/v1/audit?kind=node', { token })
    return (body['items'] as { action: string; id: string }[]).map(({ action, id }) => `${action} ${id}`)
  }
  return {
    ...{ nodes, platform, audited },
    list: (query = '') => platform.send('GET', `/v1/nodes${query}`, { token }),
    remove: (name: string) => platform.send('DELETE', `/v1/nodes/${name}`, { token }),
  }
}

describe('GET /v1/nodes', () => {
  it('shows how far each node is behind the end of the registry, and which one answers', async () => {
    const { platform, list } = await setUp({}, { name: 'b', incarnation: 'i-2', clockOffsetMs: -2_500, ...SILENT })
    const end = await platform.registry.end()
    const { status, headers, body } = await list()
    expect([status, headers['cache-control']]).toEqual([200, 'no-store'])
    const shared = { version: '1.2.3', position: 0, lag: end, registeredAt: '2027-01-15T11:00:00.000Z' }
    expect(body).toEqual({
      items: [
        { ...shared, name: 'a', silentSeconds: 0, isLive: true, isSelf: true, differs: [], clockOffsetSeconds: 0 },
        {
          ...shared,
          name: 'b',
          silentSeconds: 61,
          isLive: false,
          isSelf: false,
          differs: [],
          clockOffsetSeconds: -2.5,
        },
      ],
      next: null,
    })
  })

  it('is not behind if the node is ahead of what was read, and never shows an incarnation', async () => {
    const { platform, list } = await setUp({ position: 1_000_000, incarnation: 'i-secret' })
    const { text, body } = await list()
    expect(await platform.registry.end()).toBeLessThan(1_000_000)
    expect(body['items']).toMatchObject([{ lag: 0, isSelf: false }])
    expect(text).not.toContain('secret')
  })

  it('names the settings in which a node differs from most, and no value of them', async () => {
    const settings = { REQUEST_LOG: 'h-all', RISK_THRESHOLDS: 'h-1' }
    const odd = { name: 'c', settings: { ...settings, RISK_THRESHOLDS: 'h-2' } }
    const { list } = await setUp({ settings }, { name: 'b', settings }, odd)
    const { text, body } = await list()
    expect(body['items']).toMatchObject([{ differs: [] }, { differs: [] }, { differs: ['RISK_THRESHOLDS'] }])
    expect(text).not.toContain('h-')
  })

  it('has pages', async () => {
    const { list } = await setUp({}, { name: 'b' }, { name: 'c' })
    const first = await list('?limit=2')
    expect(first.body['items']).toMatchObject([{ name: 'a' }, { name: 'b' }])
    const second = await list(`?limit=2&cursor=${String(first.body['next'])}`)
    expect(second.body).toMatchObject({ items: [{ name: 'c' }], next: null })
  })
})

describe('DELETE /v1/nodes/{name}', () => {
  it('removes a silent node, and is audited', async () => {
    const { nodes, remove, audited } = await setUp({}, { name: 'b', ...SILENT })
    expect(await remove('b')).toMatchObject({ status: 204, text: '' })
    expect(nodes.listed).toMatchObject([{ name: 'a' }])
    expect(await audited()).toEqual(['node.remove b'])
    expect(await remove('b')).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  it('removes only the silent one of two nodes with a name', async () => {
    const { nodes, remove } = await setUp({ name: 'b' }, { name: 'b', incarnation: 'i-2', ...SILENT })
    expect((await remove('b')).status).toBe(204)
    expect(nodes.listed).toMatchObject([{ name: 'b', isLive: true }])
  })

  it('refuses a live node, also the one that answers, without an audit entry', async () => {
    const { nodes, remove, audited } = await setUp({})
    expect(await remove('a')).toMatchObject({ status: 409, body: { code: 'state_conflict' } })
    expect([nodes.listed.length, nodes.removals, await audited()]).toEqual([1, [], []])
  })

  it.each(['A', '%00', '..%2Fa', '*', 'a%20', `${'x'.repeat(90)}`, "a'--"])(
    'answers 404 to the name %s, which never reaches the store',
    async (name) => {
      const { nodes, remove } = await setUp(SILENT)
      expect(await remove(name)).toMatchObject({ status: 404, body: { code: 'not_found' } })
      expect([nodes.listed.length, nodes.removals]).toEqual([1, []])
    },
  )

  it.each([
    ['live', 409, { isLive: true }],
    ['gone', 404, null],
  ])('answers for a node that is %s once its removal is tried', async (_, status, changes) => {
    const { nodes, remove } = await setUp(SILENT)
    const { remove: removeNow } = nodes
    nodes.remove = (name) => {
      nodes.listed = changes === null ? [] : [listedNode(changes)]
      return removeNow.call(nodes, name)
    }
    expect((await remove('a')).status).toBe(status)
  })
})

describe('the list of nodes', () => {
  it('is for the tenant of the operator, whatever scopes another one has', async () => {
    const { nodes, platform } = await setUp(SILENT)
    for (const [method, path] of [
      ['GET', '/v1/nodes'],
      ['DELETE', '/v1/nodes/a'],
      ['DELETE', '/v1/nodes/unknown'],
    ] as const) {
      const other = await platform.send(method, path, { token: platform.token('rival') })
      expect(other).toMatchObject({ status: 403, body: { code: 'operation_forbidden' } })
      expect(other.text).not.toMatch(/1\.2\.3|live/)
      expect((await platform.send(method, path)).status).toBe(401)
    }
    expect(nodes.removals).toEqual([])
  })

  it.each([
    ['GET', '/v1/nodes', 'health:read'],
    ['DELETE', '/v1/nodes/a', 'platform:admin'],
  ])('%s %s needs the scope %s', async (method, path, scope) => {
    const { nodes, platform } = await setUp(SILENT)
    const others = platformScopes().filter((each) => each !== scope)
    const refused = await platform.send(method, path, { token: platform.token('acme', others) })
    expect(refused).toMatchObject({ status: 403, body: { code: 'operation_forbidden' } })
    expect(nodes.removals).toEqual([])
    expect((await platform.send(method, path, { token: platform.token('acme', [scope]) })).status).toBeLessThan(300)
  })

  it('answers 503 while the store cannot be read, and removes nothing', async () => {
    const { nodes, list, remove } = await setUp(SILENT)
    nodes.list = () => Promise.reject(new StoreUnwritable('PostgreSQL does not answer'))
    expect((await list()).status).toBe(503)
    expect((await remove('a')).status).toBe(503)
    expect(nodes.removals).toEqual([])
  })
})
