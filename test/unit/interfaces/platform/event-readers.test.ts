import { expect, it } from 'vitest'
import type { Caller } from '../../../../src/boundary/plan/caller.ts'
import { publishApi } from '../../../fixtures/published-api.ts'
import { endsOf, listen, read } from '../../../fixtures/risk-reader.ts'
import { riskEvent } from '../../../fixtures/risk-event.ts'
import { NOW_MS } from '../../../fixtures/test-platform.ts'

it('A stream ends before the answer to a command that takes the access of its credential away', async () => {
  const { platform, port } = await listen()
  const admin = platform.token('acme')
  const { subscription, credential } = await publishApi(platform, admin)
  const token = platform.token('acme')
  const caller = platform.callers.get(token) as Caller
  platform.callers.set(token, { ...caller, grant: { ...caller.grant, credential } })
  const [reader, other] = [read(port, token), read(port, platform.token('acme'))]
  await Promise.all([reader.seen('retry'), other.seen('retry')])
  await platform.send('POST', `/v1/subscriptions/${subscription}/suspend`, { token: admin })
  expect(await endsOf(platform)).toContain('risk_stream_ends_total{reason="credential_closed"} 1')
  await reader.ended
  platform.risks.publish(riskEvent({ message: 'after the suspension' }))
  await other.seen('after the suspension')
  expect(reader.text()).not.toContain('after the suspension')
})

it('The stream of a token ends before the answer to a command that ends its session, and other streams stay', async () => {
  const { platform, port } = await listen()
  const admin = platform.token('acme')
  const body = { username: 'grace', password: 'a long password', name: 'Grace', roles: [{ role: 'auditor' }] }
  const person = String((await platform.send('POST', '/v1/users', { token: admin, body })).body['id'])
  const tokenOf = (jti: string): string => platform.token('acme', undefined, undefined, { person, jti })
  const login = {
    ...{ tenant: 'acme', clientId: 'cli_1', credential: 'crd_1', api: 'platform-v1', scope: 'risks:read' },
    ...{ person: { id: person, epoch: 0 }, opensUserinfo: false, loggedInAtMs: NOW_MS },
  }
  const { write } = platform.people.refreshGrants.begin(login, { jti: 'tok_1', expiresAtMs: NOW_MS + 3_600_000 })
  await platform.registry.commit({ tenant: 'acme', consumer: 'system' }, 'refresh_grant.create', [write])
  const [reader, other] = [read(port, tokenOf('tok_1')), read(port, tokenOf('tok_2'))]
  await Promise.all([reader.seen('retry'), other.seen('retry')])
  const path = `/v1/users/${person}/sessions`
  const { body: page } = await platform.send('GET', path, { token: admin })
  const [session] = page['items'] as { id: string }[]
  expect((await platform.send('DELETE', `${path}/${session?.id}`, { token: admin })).status).toBe(204)
  expect(await endsOf(platform)).toContain('risk_stream_ends_total{reason="credential_closed"} 1')
  await reader.ended
  platform.risks.publish(riskEvent({ message: 'after the end' }))
  await other.seen('after the end')
  expect(reader.text()).not.toContain('after the end')
})

it('The streams of a person, and of a consumer that sees its own only, leave places for the others of the tenant', async () => {
  const { platform, port } = await listen()
  const callers = [
    platform.token('acme', undefined, undefined, { person: 'usr_1', jti: 'tok_1' }),
    platform.token('acme', ['risks:read:own'], undefined, { consumer: 'con_own' }),
  ]
  for (const token of callers) {
    const readers = Array.from({ length: 50 }, () => read(port, token))
    await Promise.all(readers.map((each) => each.seen('retry')))
    const more = await platform.send('GET', '/v1/events/subscribe', { token })
    expect(more).toMatchObject({ status: 503, body: { code: 'unavailable' } })
  }
  await read(port, platform.token('acme')).seen('retry')
})
