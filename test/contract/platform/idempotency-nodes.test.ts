/** Requests with an idempotency key that reach several nodes. */

// @module-tag postgres

import { randomBytes } from 'node:crypto'
import fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Caller } from '../../../src/boundary/plan/caller.ts'
import { createOnce } from '../../../src/interfaces/platform/idempotency.ts'
import { createVault } from '../../../src/foundation/runtime/vault.ts'
import { documentKind } from '../../../src/storage/store/registry.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { toGrant } from '../../fixtures/test-platform.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'

const server = usePostgres()

const ORDER = documentKind<number>('order', 'hidden')
const AUTHOR = { tenant: 'acme', consumer: 'con_acme' }
const CALLER: Caller = {
  ...{ grant: toGrant('acme'), method: 'token', api: 'platform-v1', scopes: new Set<string>() },
  ...{ agent: '', person: '', jti: '', expiresAtMs: Infinity, certificate: '' },
}
const VAULT = createVault(randomBytes(32))

/** Waits at a place of the handler until the test has ended, like a process that was killed there. */
type Death = 'before the commit' | 'after the commit' | null

/** A node with one command, which makes an order. */
async function openNode(url: string, death: Death = null) {
  const { registry, idempotencyKeys } = await openTestPostgres(url)
  const once = createOnce({ store: idempotencyKeys, vault: VAULT })
  const reached = Promise.withResolvers<void>()
  const never = new Promise<void>(() => {})
  const dieAt = (place: Death): Promise<void> | undefined => {
    if (place !== death) return undefined
    reached.resolve()
    return never
  }
  const app = fastify()
  onTestFinished(() => app.close())
  let number = 0
  app.post('/v1/orders', async (request, reply) => {
    const call = { params: {}, query: {}, body: request.body, author: AUTHOR, caller: CALLER, owner: null, request }
    return once(call, reply, async () => {
      await dieAt('before the commit')
      const id = `${death ?? 'alive'} ${number++} ${randomBytes(8).toString('hex')}`
      await registry.commit(AUTHOR, 'order', [{ kind: ORDER, id, tenant: 'acme', expected: 0, body: 1 }])
      await dieAt('after the commit')
      return { id }
    })
  })
  const send = () =>
    app.inject({ method: 'POST', url: '/v1/orders', payload: { item: 1 }, headers: { 'idempotency-key': 'key-1' } })
  const orders = async () => (await registry.list(ORDER, { limit: 100 })).length
  return { send, orders, reached: reached.promise }
}

const expire = (url: string): Promise<unknown> =>
  executeSql(url, `UPDATE idempotency_key SET held_until = held_until - interval '30 seconds'`)

describe('a request that is sent to several nodes', () => {
  it('has one effect, and the same answer at every node', async () => {
    const url = await server.createDatabase()
    const [one, other] = [await openNode(url), await openNode(url)]
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => (index % 2 ? one : other).send()))
    expect(await one.orders()).toBe(1)
    const done = [await one.send(), await other.send()]
    expect(done.map(({ statusCode, headers }) => [statusCode, headers['idempotency-replayed']])).toEqual([
      [200, 'true'],
      [200, 'true'],
    ])
    expect(done[0]!.json()).toEqual(done[1]!.json())
    for (const answer of answers) {
      if (answer.statusCode === 200) expect(answer.json()).toEqual(done[0]!.json())
      else expect(answer.statusCode).toBe(409)
    }
  })

  it('is executed by another node if the first one died before it had an effect', async () => {
    const url = await server.createDatabase()
    const [dead, other] = [await openNode(url, 'before the commit'), await openNode(url)]
    void dead.send()
    await dead.reached
    expect((await other.send()).body).toContain('still running')
    await expire(url)
    expect((await other.send()).statusCode).toBe(200)
    expect(await other.orders()).toBe(1)
  })

  it('is not executed again if the first node died after it had an effect; the answer says that it is unknown', async () => {
    const url = await server.createDatabase()
    const [dead, other] = [await openNode(url, 'after the commit'), await openNode(url)]
    void dead.send()
    await dead.reached
    expect((await other.send()).body).toContain('still running')
    await expire(url)
    expect((await other.send()).body).toContain('may have taken effect')
    expect(await other.orders()).toBe(1)
  })
})
