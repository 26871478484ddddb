/** A request that names a resource of another tenant is answered like one that names nothing. */

import { expect, it } from 'vitest'
import { publishApi } from '../../fixtures/published-api.ts'
import { openTestPlatform, PAYMENTS, PAYMENTS_SLA } from '../../fixtures/test-platform.ts'

const OTHER = PAYMENTS.toString().replace(/^( {2}title:).*$/m, '$1 Orders')

type Foreign = Awaited<ReturnType<typeof publishApi>> & { readonly ruleset: string }
type Own = Readonly<Record<'consumer' | 'receiver' | 'subscription' | 'provider', string>>

/** Method, path, and body; `id` is of another tenant, or of nothing. */
type Attempt = readonly [string, string, (id: string, own: Own) => object | undefined, (foreign: Foreign) => string]

const apiOf = (): string => 'payments-v1'
const consumerOf = ({ consumer }: Foreign): string => consumer
const assigned = (id: string) => ({ role: 'consumer', consumers: [id] })
const ATTEMPTS: readonly Attempt[] = [
  ['POST', '/v1/subscriptions', (consumer) => ({ consumer, api: 'orders-v1' }), consumerOf],
  ['POST', '/v1/subscriptions', (api, { consumer }) => ({ consumer, api }), apiOf],
  ['POST', '/v1/subscriptions', (product, { consumer }) => ({ consumer, product }), ({ product }) => product],
  ['POST', '/v1/products', (api) => ({ name: 'Mine', apis: ['orders-v1', api] }), apiOf],
  ['POST', '/v1/users', (id) => ({ username: 'eve', name: 'Eve', roles: [assigned(id)] }), consumerOf],
  [
    'POST',
    '/v1/users',
    (provider) => ({ username: 'eve', name: 'Eve', identity: { provider, subject: 'a' } }),
    ({ plain }) => plain['/v1/identityproviders']!,
  ],
  [
    'PATCH',
    '/v1/identityproviders/:provider',
    (id) => ({ signIn: { clientId: 'a', clientSecret: 'b', roles: [{ claim: 'g', value: 'v', ...assigned(id) }] } }),
    consumerOf,
  ],
  ['POST', '/v1/openslaspecs', (api) => ({ api, specification: PAYMENTS_SLA.toString('base64') }), apiOf],
  ['POST', '/v1/openslaspecs/validate', (api) => ({ api, specification: PAYMENTS_SLA.toString('base64') }), apiOf],
  [
    'POST',
    '/v1/adrs',
    (api) => ({ title: 'a', status: 'Accepted', context: 'a', decision: 'a', consequences: 'a', api }),
    apiOf,
  ],
  [
    'POST',
    '/v1/apis/orders-v1/deprecate',
    (successor) => ({ retirementDate: '2030-01-01T00:00:00Z', successor }),
    apiOf,
  ],
  ['POST', '/v1/eventsubscriptions/:receiver/redeliver', (delivery) => ({ delivery }), ({ delivery }) => delivery],
  ['POST', '/v1/identityproviders', (api) => ({ issuer: 'https://other.example', apis: [api] }), apiOf],
  [
    'PUT',
    '/v1/policy',
    (ruleset) => ({ approval: { minScore: 80, allowErrors: false, allowBreaking: false, exposures: [] }, ruleset }),
    ({ ruleset }) => ruleset,
  ],
  ['DELETE', '/v1/subscriptions/:subscription/credentials/:foreign', () => undefined, ({ credential }) => credential],
  ['GET', '/v1/subscriptions/:subscription/approvalFlows/:foreign', () => undefined, ({ flow }) => flow],
  ['GET', '/v1/eventsubscriptions/:receiver/deliveries/:foreign', () => undefined, ({ delivery }) => delivery],
  ['DELETE', '/v1/consumers/:foreign?erase=true', () => undefined, consumerOf],
  ['DELETE', '/v1/users/:foreign?erase=true', () => undefined, ({ plain }) => plain['/v1/users']!],
]

async function setUp() {
  const platform = await openTestPlatform()
  const owner = platform.token('acme')
  const published = await publishApi(platform, owner)
  const made = await platform.send('POST', '/v1/rulesets', { token: owner, body: { rules: {} } })
  const foreign: Foreign = { ...published, ruleset: String(made.body['id']) }
  const token = platform.token('rival')
  const send = async (method: string, path: string, body?: object) =>
    platform.send(method, path, { token, ...(body !== undefined && { body }) })
  const idOf = async (path: string, body: object) => String((await send('POST', path, body)).body['id'])
  const backend = { url: 'https://backend.example' }
  const specification = Buffer.from(OTHER).toString('base64')
  const proxy = await idOf('/v1/proxies', { api: 'orders-v1', specification, backend })
  await send('POST', `/v1/proxies/${proxy}/activate`)
  const consumer = await idOf('/v1/consumers', { name: 'Eve', kind: 'application' })
  const own: Own = {
    consumer,
    receiver: await idOf('/v1/eventsubscriptions', { url: 'https://eve.example/hook' }),
    subscription: await idOf('/v1/subscriptions', { consumer, api: 'orders-v1' }),
    provider: await idOf('/v1/identityproviders', { issuer: 'https://idp.eve.example' }),
  }
  return { send, foreign, own }
}

it('a request with the id of a resource of another tenant is answered like one with an unknown id', async () => {
  const { send, foreign, own } = await setUp()
  for (const [method, path, bodyOf, of] of ATTEMPTS) {
    const known = of(foreign)
    // Of the same length, so that the answers can be compared as texts.
    const unknown = known.replace(/[^_-](?=(-v\d+)?$)/, (last) => (last === '0' ? '1' : '0'))
    expect(known).not.toBe(unknown)
    const answerTo = async (id: string) => {
      const fill = (_: string, name: string) => (name === 'foreign' ? id : own[name as keyof Own])
      const { status, text, body } = await send(method, path.replace(/:(\w+)/g, fill), bodyOf(id, own))
      const errors = (body['errors'] ?? []) as readonly { readonly detail: string }[]
      const reason = errors.map(({ detail }) => detail).join() || String(body['detail'])
      return {
        status,
        text: text.replace(/"requestId":"\w+"/, '').replaceAll(id, 'ID'),
        reason: reason.replaceAll(id, 'ID'),
      }
    }
    const answer = await answerTo(known)
    expect(await answerTo(unknown), `${method} ${path}`).toEqual(answer)
    expect([400, 404], `${method} ${path} ${answer.text}`).toContain(answer.status)
    expect(answer.reason, `${method} ${path}`).toMatch(/exist|there is no|has no such|No such/i)
  }
})
