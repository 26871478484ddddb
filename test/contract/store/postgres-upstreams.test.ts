import { afterAll, describe, expect, it } from 'vitest'
import type { Postgres } from '../../../src/store/postgres/open-postgres.ts'
import { createPostgresServer } from '../../fixtures/postgres-server.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'

const server = await createPostgresServer()
afterAll(() => server.remove())

/** A node whose process runs. */
async function join(url: string, name: string): Promise<Postgres> {
  const postgres = await openTestPostgres(url, { nodeName: name })
  await postgres.nodes.register({ incarnation: name, name, version: '1', format: 1, settings: {} })
  return postgres
}

describe('Failing backends of several nodes', () => {
  it('are news for the first node, and for one for which they fail worse', async () => {
    const url = await server.createDatabase()
    const [a, b] = [await join(url, 'a'), await join(url, 'b')]
    expect(await a.upstreams.report('a', 'ledger-v1', 1)).toBe(true)
    expect(await b.upstreams.report('b', 'ledger-v1', 1)).toBe(false)
    expect(await b.upstreams.report('b', 'ledger-v1', 2)).toBe(true)
    expect(await a.upstreams.report('a', 'ledger-v1', 2)).toBe(false)
    expect(await a.upstreams.report('a', 'other-v1', 1)).toBe(true)
  })

  it('are news again after they have recovered for all', async () => {
    const url = await server.createDatabase()
    const [a, b] = [await join(url, 'a'), await join(url, 'b')]
    expect(await a.upstreams.report('a', 'ledger-v1', 2)).toBe(true)
    expect(await b.upstreams.report('b', 'ledger-v1', 2)).toBe(false)
    expect(await a.upstreams.report('a', 'ledger-v1', 0)).toBe(false)
    expect(await a.upstreams.report('a', 'ledger-v1', 2)).toBe(false)
    expect(await a.upstreams.report('a', 'ledger-v1', 0)).toBe(false)
    expect(await b.upstreams.report('b', 'ledger-v1', 0)).toBe(false)
    expect(await b.upstreams.report('b', 'ledger-v1', 1)).toBe(true)
  })

  it('are news for one of several nodes that report at once', async () => {
    const url = await server.createDatabase()
    const nodes = await Promise.all(['a', 'b', 'c'].map((name) => join(url, name)))
    const news = await Promise.all(nodes.map((node, index) => node.upstreams.report('abc'[index]!, 'ledger-v1', 2)))
    expect(news.filter(Boolean)).toHaveLength(1)
  })

  it('are forgotten with the process that reported them', async () => {
    const url = await server.createDatabase()
    const [a, b] = [await join(url, 'a'), await join(url, 'b')]
    expect(await a.upstreams.report('a', 'ledger-v1', 2)).toBe(true)
    await executeSql(url, `UPDATE node SET registered_at = now() + interval '1 second' WHERE name = 'a'`)
    expect(await b.upstreams.report('b', 'ledger-v1', 2)).toBe(true)
    await b.nodes.leave()
    expect(await a.upstreams.report('a', 'ledger-v1', 2)).toBe(true)
  })
})
