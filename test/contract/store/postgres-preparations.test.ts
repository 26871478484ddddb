/** Requests to prepare something, between processes that share a database. */

// @module-tag postgres

import { describe, expect, it } from 'vitest'
import { systemClock, type Clock } from '../../../src/foundation/runtime/clock.ts'
import { LIVE_MS } from '../../../src/storage/store/nodes.ts'
import type { Postgres } from '../../../src/storage/store/postgres/open-postgres.ts'
import type { Prepare } from '../../../src/storage/store/preparations.ts'
import { openBehindProxy } from '../../fixtures/faulty-proxy.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { NODE } from './nodes.contract.ts'

const server = usePostgres()

/** A node that serves; it answers nothing without `prepare`. */
async function start(url: string, name: string, prepare?: Prepare, clock: Clock = systemClock): Promise<Postgres> {
  const postgres = await openTestPostgres(url, { clock })
  await postgres.nodes.register({ ...NODE, incarnation: `i-${name}`, name })
  postgres.nodes.serve(1)
  await expect
    .poll(() => postgres.nodes.list())
    .toMatchObject(
      expect.arrayContaining(
        [{ ...NODE, incarnation: `i-${name}`, name, position: 1 }].map((row) => expect.objectContaining(row)),
      ),
    )
  if (prepare !== undefined) postgres.preparations.answer(`i-${name}`, prepare)
  return postgres
}

/** A clock whose timers of `LIVE_MS` end when the test says so, also those that are set later. */
function openClock(): { clock: Clock; endWaits: () => void } {
  const end = Promise.withResolvers<void>()
  const after: Clock['after'] = (delayMs, task) => {
    if (delayMs !== LIVE_MS) return systemClock.after(delayMs, task)
    let isCancelled = false
    void end.promise.then(() => isCancelled || task())
    return () => void (isCancelled = true)
  }
  return { clock: { ...systemClock, after }, endWaits: end.resolve }
}

const openRequests = (url: string) => executeSql(url, 'SELECT id FROM prepare_request').then(({ rows }) => rows.length)

describe('a request to prepare something', () => {
  it('is executed once by every other node, and leaves nothing behind', async () => {
    const url = await server.createDatabase()
    const bodies: string[] = []
    const note =
      (name: string): Prepare =>
      async (body) => {
        bodies.push(`${name} ${body}`)
        return null
      }
    const { preparations } = await start(url, 'a', note('a'))
    await start(url, 'b', note('b'))
    await start(url, 'c', note('c'))
    expect(await preparations.ask('i-a', '{"plan":1}')).toEqual([])
    expect(bodies.sort()).toEqual(['b {"plan":1}', 'c {"plan":1}'])
    await expect.poll(() => openRequests(url)).toBe(0)
  })

  it('is answered with the node that refuses, without waiting for others', async () => {
    const url = await server.createDatabase()
    const { preparations } = await start(url, 'a')
    await start(url, 'b', async () => 'no memory')
    await start(url, 'c', () => new Promise(() => {}))
    expect(await preparations.ask('i-a', 'x')).toEqual([{ node: 'b', reason: 'no memory' }])
  })

  it('asks nobody if there is no other node, or none that has finished its start', async () => {
    const url = await server.createDatabase()
    const { preparations } = await start(url, 'a')
    const starting = await openTestPostgres(url)
    await starting.nodes.register({ ...NODE, incarnation: 'i-b', name: 'b' })
    expect(await preparations.ask('i-a', 'x')).toEqual([])
    expect(await openRequests(url)).toBe(0)
  })

  it('does not wait for a node that is silent, and not longer than five seconds for one that does not answer', async () => {
    const url = await server.createDatabase()
    const { clock, endWaits } = openClock()
    const { preparations } = await start(url, 'a', undefined, clock)
    const dead = await start(url, 'b')
    await dead.close()
    await executeSql(url, `UPDATE node SET heard_at = heard_at - interval '1 minute' WHERE name = 'b'`)
    expect(await preparations.ask('i-a', 'x')).toEqual([])

    const asked = Promise.withResolvers<void>()
    await start(url, 'c', () => {
      asked.resolve()
      return new Promise(() => {})
    })
    let isOver = false
    const waiting = preparations.ask('i-a', 'y').finally(() => (isOver = true))
    await asked.promise
    expect(isOver).toBe(false)
    endWaits()
    expect(await waiting).toEqual([])
  })

  it('is found by the report of a node if its notification was lost', async () => {
    const url = await server.createDatabase()
    const bodies: string[] = []
    await start(url, 'b', async (body) => {
      bodies.push(body)
      return null
    })
    await executeSql(url, `INSERT INTO prepare_request VALUES (gen_random_uuid(), 'i-a', 'unheard', now())`)
    await expect.poll(() => bodies, { timeout: 10_000 }).toEqual(['unheard'])
  })

  it('ends with an error if PostgreSQL cannot be reached, and does not delay the end of the process', async () => {
    const { proxy, url } = await openBehindProxy(await server.createDatabase())
    const { preparations, close } = await start(url, 'a')
    proxy.refuse(true)
    proxy.cut()
    await expect(preparations.ask('i-a', 'x')).rejects.toThrow('PostgreSQL cannot be reached')
    await close()
  })

  it('expires: no node executes an old one, and the next request removes it', async () => {
    const url = await server.createDatabase()
    await executeSql(url, 'SELECT 1')
    const { preparations } = await start(url, 'a')
    await executeSql(
      url,
      `INSERT INTO prepare_request VALUES (gen_random_uuid(), 'i-x', 'old', now() - interval '2 minutes')`,
    )
    const bodies: string[] = []
    await start(url, 'b', async (body) => {
      bodies.push(body)
      return null
    })
    expect(await preparations.ask('i-a', 'new')).toEqual([])
    expect(bodies).toEqual(['new'])
    await expect.poll(() => openRequests(url)).toBe(0)
  })

  it('is answered by a node that stops, without preparing anything', async () => {
    const url = await server.createDatabase()
    const { preparations } = await start(url, 'a')
    const other = await start(url, 'b')
    other.preparations.answer('i-b', async () => 'must not be called')()
    expect(await preparations.ask('i-a', 'x')).toEqual([])
  })
})
