/** The data that idempotency keys leave on the disk. */

import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastify from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import type { Caller } from '../../../../src/boundary/plan/caller.ts'
import { createOnce } from '../../../../src/interfaces/platform/idempotency.ts'
import { createVault } from '../../../../src/foundation/runtime/vault.ts'
import { openSqliteIdempotencyStore } from '../../../../src/storage/store/sqlite/idempotency-store.ts'
import { NOW_MS, toGrant } from '../../../fixtures/test-platform.ts'

const PERSON = { username: 'grace', password: 'a long password', name: 'Grace' }

it('a stored request reveals neither its password nor its answer', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-idempotency-'))
  const store = openSqliteIdempotencyStore({ path: join(folder, 'kept.db'), clock: { nowMs: () => NOW_MS } })
  const once = createOnce({ store, vault: createVault(randomBytes(32)) })
  const caller: Caller = {
    ...{ grant: toGrant('acme'), method: 'token', api: 'platform-v1', scopes: new Set<string>() },
    ...{ agent: '', person: '', jti: '', expiresAtMs: Infinity, certificate: '' },
  }
  const app = fastify()
  onTestFinished(async () => {
    await app.close()
    store.close()
    rmSync(folder, { recursive: true })
  })
  app.post('/v1/users', async (request, reply) => {
    const call = {
      params: {},
      query: {},
      body: request.body,
      author: { tenant: 'acme', consumer: 'con_acme' },
      caller,
      owner: null,
      request,
    }
    return once(call, reply, async () => ({ clientSecret: 'a secret of the answer' }))
  })
  const send = () =>
    app.inject({ method: 'POST', url: '/v1/users', payload: PERSON, headers: { 'idempotency-key': 'key-1' } })
  await send()
  const again = await send()
  expect([again.headers['idempotency-replayed'], again.json()]).toEqual([
    'true',
    { clientSecret: 'a secret of the answer' },
  ])

  const kept = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1'))
  const text = JSON.stringify(PERSON)
  const guesses = ['sha1', 'sha256', 'sha512'].flatMap((algorithm) =>
    (['hex', 'base64', 'base64url'] as const).map((encoding) => createHash(algorithm).update(text).digest(encoding)),
  )
  for (const readable of [PERSON.password, 'a secret of the answer', ...guesses]) {
    expect(kept.join('\n')).not.toContain(readable)
  }
})
