import { afterAll, describe, expect, it } from 'vitest'
import { StartRefused } from '../../../src/runtime/start-refused.ts'
import type { PostgresOptions } from '../../../src/store/postgres/open-postgres.ts'
import type { Nodes } from '../../../src/store/nodes.ts'
import { createPostgresServer } from '../../fixtures/postgres-server.ts'
import { openTestPostgres } from '../../fixtures/test-postgres.ts'
import { NODE, nodesContract } from './nodes.contract.ts'

const server = await createPostgresServer()
afterAll(() => server.remove())

nodesContract('postgres', async () => (await openTestPostgres(await server.createDatabase())).nodes)

async function start(url: string, name: string, options: Partial<PostgresOptions> = {}): Promise<Nodes> {
  const { nodes } = await openTestPostgres(url, options)
  await nodes.register({ ...NODE, incarnation: `i-${name}`, name })
  return nodes
}

describe('several nodes', () => {
  it('acknowledge a position once all of them serve it', async () => {
    const url = await server.createDatabase()
    const all = [await start(url, 'a'), await start(url, 'b'), await start(url, 'c')]
    let pending: readonly string[] | null = null
    const acknowledged = all[0]!.acknowledged(5, 60_000).then((names) => (pending = names))
    all[0]!.serve(5)
    all[1]!.serve(6)
    await expect.poll(async () => (await all[0]!.list()).map(({ position }) => position)).toEqual([5, 6, 0])
    expect(pending).toBeNull()
    all[2]!.serve(5)
    await acknowledged
    expect(pending).toEqual([])
  })
})

describe('a second process', () => {
  it('of the same incarnation, or of the same name, is refused while the first one lives', async () => {
    const url = await server.createDatabase()
    const first = await start(url, 'a')
    const { nodes: second } = await openTestPostgres(url, { registerRefusedAfterMs: 0 })
    const copy = second.register({ ...NODE, incarnation: 'i-a', name: 'b' })
    await expect(copy).rejects.toBeInstanceOf(StartRefused)
    await expect(copy).rejects.toThrow('copy of this DATA_DIR')
    const namesake = second.register({ ...NODE, incarnation: 'i-b', name: 'a' })
    await expect(namesake).rejects.toThrow('another node is named a; set NODE_NAME')
    await first.leave()
    await second.register({ ...NODE, incarnation: 'i-b', name: 'a' })
    expect(await second.list()).toMatchObject([{ incarnation: 'i-b', name: 'a' }])
  })
})
