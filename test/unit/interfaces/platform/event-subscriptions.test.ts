/** `/v1/eventsubscriptions` over HTTP. */

import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import { EVENT_SAMPLES } from '../../../../src/control/webhooks/event-samples.ts'
import { EVENT_TYPES } from '../../../../src/control/command/event-outbox.ts'
import { eventSchema } from '../../../../src/interfaces/platform/webhook-events.ts'
import { openTestPlatform, type TestPlatform } from '../../../fixtures/test-platform.ts'
import { EVENT_SUBSCRIPTION_KIND } from '../../../../src/control/webhooks/event-subscription-document.ts'

const PATH = '/v1/eventsubscriptions'
const URL_OF = 'https://receiver.example/hook'

async function open() {
  const platform = await openTestPlatform()
  const token = platform.token('acme')
  const send = (method: Parameters<TestPlatform['send']>[0], path: string, body?: unknown) =>
    platform.send(method, PATH + path, { token, ...(body !== undefined && { body }) })
  return { platform, send, token }
}

describe('an event subscription', () => {
  it('shows its secret only when it is created or rotated', async () => {
    const { platform, send, token } = await open()
    const made = await send('POST', '', { url: URL_OF, events: ['SlaChanged'] })
    expect(made).toMatchObject({ status: 201, body: { url: URL_OF, events: ['SlaChanged'], state: 'active' } })
    const first = String(made.body['secret'])
    expect(first).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const id = String(made.body['id'])
    const rotated = await send('POST', `/${id}/rotateSecret`)
    const second = String(rotated.body['secret'])
    expect(rotated.status).toBe(200)
    expect(second).not.toBe(first)
    const shown = [
      await send('GET', `/${id}`),
      await send('GET', ''),
      await send('PATCH', `/${id}`, { events: null }),
      await platform.send('GET', '/v1/audit', { token }),
    ]
    for (const { status, text } of shown) {
      expect(status).toBe(200)
      expect(text).not.toContain('whsec_')
      expect(text).not.toContain(first.slice(6))
    }
    expect(JSON.stringify(await platform.registry.list(EVENT_SUBSCRIPTION_KIND, { limit: 9 }))).not.toContain(
      second.slice(6),
    )
  })

  it('accepts a secret of the caller', async () => {
    const { send } = await open()
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    expect((await send('POST', '', { url: URL_OF, secret })).body['secret']).toBe(secret)
  })

  it('can be disabled, enabled and deleted', async () => {
    const { send } = await open()
    const { body } = await send('POST', '', { url: URL_OF })
    const path = `/${String(body['id'])}`
    expect((await send('PATCH', path, { state: 'disabled' })).body['state']).toBe('disabled')
    expect((await send('POST', `${path}/test`, { type: 'SlaChanged' })).body['code']).toBe('state_conflict')
    expect((await send('PATCH', path, { state: 'active' })).body['state']).toBe('active')
    expect((await send('POST', `${path}/test`, { type: 'SlaChanged' })).body).toMatchObject({
      type: 'SlaChanged',
      state: 'pending',
      attempts: [],
    })
    expect((await send('DELETE', path)).status).toBe(204)
    expect((await send('GET', `${path}/deliveries`)).status).toBe(404)
  })

  it('is limited to a hundred per tenant', async () => {
    const { send } = await open()
    const answers = await Promise.all(Array.from({ length: 105 }, () => send('POST', '', { url: URL_OF })))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(100)
    expect(answers.filter(({ body }) => body['code'] === 'state_conflict')).toHaveLength(5)
  })

  it.each<[string, object, string]>([
    ['no address', {}, '/url'],
    ['another scheme', { url: 'ftp://receiver.example/' }, '/url'],
    ['an address of this machine', { url: 'https://localhost/' }, '/url'],
    ['an unknown kind', { url: URL_OF, events: ['AuthFailure401'] }, '/events/0'],
    ['an empty list of kinds', { url: URL_OF, events: [] }, '/events'],
    ['a kind twice', { url: URL_OF, events: ['SlaChanged', 'SlaChanged'] }, '/events'],
    ['a malformed secret', { url: URL_OF, secret: 'hunter2' }, '/secret'],
    ['a short secret', { url: URL_OF, secret: `whsec_${'A'.repeat(31)}=` }, '/secret'],
    ['an undeclared member', { url: URL_OF, state: 'active' }, '/state'],
  ])('with %s is refused', async (_, body, pointer) => {
    const { send } = await open()
    const answer = await send('POST', '', body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'payload_invalid' } })
    expect((answer.body['errors'] as { pointer: string }[]).map((each) => each.pointer)).toContain(pointer)
  })

  it('refuses a new URL that leads back to the service, and stays unchanged', async () => {
    const { send } = await open()
    const { body } = await send('POST', '', { url: URL_OF })
    const path = `/${String(body['id'])}`
    expect((await send('PATCH', path, { url: 'https://localhost/' })).status).toBe(400)
    expect((await send('GET', path)).body['url']).toBe(URL_OF)
  })

  it.each<[object]>([
    [{}],
    [{ delivery: 'dlv_1', since: '2026-01-01T00:00:00Z' }],
    [{ since: 'yesterday' }],
    [{ delivery: 'dlv_1' }],
  ])('refuses a redelivery of %j', async (asked) => {
    const { send } = await open()
    const { body } = await send('POST', '', { url: URL_OF })
    expect((await send('POST', `/${String(body['id'])}/redeliver`, asked)).status).toBe(400)
  })
})

describe('an event', () => {
  const ajv = addFormats.default(new Ajv2020({ strict: false }))

  it.each(EVENT_TYPES)('%s is published with its schema and an example', async (kind) => {
    const { platform } = await open()
    const { body } = await platform.send('GET', '/openapi.json')
    const webhooks = body['webhooks'] as Record<string, { post: { requestBody: { content: Record<string, object> } } }>
    const content = webhooks[kind]!.post.requestBody.content['application/json'] as { schema: object; example: object }
    expect(content.schema).toEqual(eventSchema(kind))
    const validate = ajv.compile(content.schema)
    expect(validate(content.example), JSON.stringify(validate.errors)).toBe(true)
    expect(content.example).toMatchObject({ type: kind, data: EVENT_SAMPLES[kind] })
  })
})
