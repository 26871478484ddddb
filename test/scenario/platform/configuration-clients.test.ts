/** How subscriptions are used is part of a folder: a copy must have no credentials that its source does not have. */

import { beforeEach, describe, expect, it } from 'vitest'
import { HANDLERS, readAll } from '../../../src/interfaces/cli/configuration/kinds.ts'
import { NAME_FIELDS } from '../../../src/interfaces/cli/configuration/read-folder.ts'
import type { Fields } from '../../../src/interfaces/cli/configuration/resource.ts'
import { CLIENT_FIELDS } from '../../../src/interfaces/cli/configuration/subscription-client.ts'
import { ALL_OPERATIONS } from '../../../src/interfaces/platform/operations.ts'
import {
  applyTo,
  contextOver,
  credentialsOf,
  differencesOf,
  dumpOf,
  platformOver,
  type Files,
} from '../../fixtures/configured-platform.ts'
import { openTestPlatform, PAYMENTS, type TestPlatform } from '../../fixtures/test-platform.ts'

const API = 'payments-v1'
const KEY = `subscription App to ${API}`
const ISSUER = 'https://login.example'
const REDIRECT = 'https://app.example/back'
const [BOUND, OTHER_BOUND] = ['A', 'E'].map((letter) => letter.repeat(43))

const CLIENTS: Readonly<Record<string, Fields>> = {
  'no type': {},
  'an API key': { securityTypes: ['ApiKey'] },
  'a client': { securityTypes: ['OAuth2'] },
  'a client with a redirect URI': { securityTypes: ['OAuth2'], redirectUris: [REDIRECT] },
  'a client without a secret': { securityTypes: ['PKCE'], redirectUris: [REDIRECT] },
  'a federated client': { securityTypes: ['Federated'], federated: { issuer: ISSUER, clientId: 'app' } },
  'a client that is bound to a certificate': { securityTypes: ['OAuth2'], certificateThumbprint: BOUND },
}

type Send = (method: string, path: string, body?: object) => Promise<Fields>

const senderTo =
  (service: TestPlatform): Send =>
  async (method, path, body) => {
    const answer = await service.send(method, path, {
      token: service.token('acme'),
      ...(body !== undefined && { body }),
    })
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body
  }

/** Returns the path of a subscription with that client. */
async function subscribe(send: Send, client: Fields): Promise<string> {
  const backend = { url: 'https://backend.example' }
  const proxy = await send('POST', '/v1/proxies', { api: API, specification: PAYMENTS.toString('base64'), backend })
  await send('POST', `/v1/proxies/${String(proxy['id'])}/activate`, {})
  await send('POST', '/v1/identityproviders', { issuer: ISSUER })
  const { id: consumer } = await send('POST', '/v1/consumers', { name: 'App', kind: 'application' })
  const { id } = await send('POST', '/v1/subscriptions', { consumer, api: API, ...client })
  return `/v1/subscriptions/${String(id)}`
}

let [source, copy] = [] as unknown as [TestPlatform, TestPlatform]
beforeEach(async () => {
  ;[source, copy] = await Promise.all([openTestPlatform(), openTestPlatform()])
})

it.each(Object.entries(CLIENTS))('A copy of a subscription with %s has the same credentials', async (_, client) => {
  await subscribe(senderTo(source), client)
  const files = await dumpOf(source)
  expect(await applyTo(copy, files)).toMatchObject({ failures: [] })
  expect(await credentialsOf(copy)).toEqual(await credentialsOf(source))
  expect(await dumpOf(copy)).toEqual(files)
  expect(await differencesOf(copy, files)).toEqual([])
})

describe('a folder and a subscription with another client', () => {
  const clients = Object.entries(CLIENTS)
  const pairs = clients.flatMap(([name, one], index) => {
    const [otherName, other] = clients[(index + 1) % clients.length]!
    return [[name, otherName, one, other] as const]
  })

  it.each(pairs)('differ, and apply says what to do: %s, %s', async (_, __, one, other) => {
    await subscribe(senderTo(source), one)
    await subscribe(senderTo(copy), other)
    const files = await dumpOf(source)
    const before = await credentialsOf(copy)
    expect(await differencesOf(copy, files)).toMatchObject([{ action: 'change', found: { name: `App to ${API}` } }])
    const { failures } = await applyTo(copy, files)
    expect(failures).toMatchObject([{ exitCode: 1, text: expect.stringMatching(`^${KEY}: .* cannot be changed; `) }])
    expect(await credentialsOf(copy)).toEqual(before)
  })

  it.each(CLIENT_FIELDS)('differ in each field: %s', async (field) => {
    const values: Readonly<Record<(typeof CLIENT_FIELDS)[number], readonly [Fields, Fields]>> = {
      securityTypes: [{ securityTypes: ['ApiKey'] }, {}],
      certificateThumbprint: [{ certificateThumbprint: BOUND }, { certificateThumbprint: OTHER_BOUND }],
      redirectUris: [{ redirectUris: [REDIRECT] }, {}],
      federated: [
        { securityTypes: ['Federated'], federated: { issuer: ISSUER, clientId: 'app' } },
        { securityTypes: ['Federated'], federated: { issuer: ISSUER, clientId: 'other' } },
      ],
    }
    const [one, other] = values[field]
    await subscribe(senderTo(source), one)
    await subscribe(senderTo(copy), other)
    expect(await differencesOf(copy, await dumpOf(source))).toMatchObject([{ differences: [{ field }] }])
  })
})

describe('a revocation or a rotation since the dump', () => {
  let path: string
  let files: Files
  let send: Send
  beforeEach(async () => {
    send = senderTo(source)
    path = await subscribe(send, {})
    files = await dumpOf(source)
  })

  async function revoke(type: string): Promise<void> {
    const { items } = await send('GET', `${path}/credentials?reveal=false`)
    const { id } = (items as readonly Fields[]).find((each) => each['type'] === type)!
    await source.send('DELETE', `${path}/credentials/${String(id)}`, { token: source.token('acme') })
  }

  it('is a difference: the folder can be dumped again, or the subscription created again', async () => {
    await revoke('OAuth2')
    expect((await applyTo(source, files)).failures.map(({ text }) => text)).toEqual([
      `${KEY}: securityTypes cannot be changed; remove the subscription and create it again.`,
    ])
    const narrowed = await dumpOf(source)
    expect(await applyTo(copy, narrowed)).toMatchObject({ failures: [] })
    expect(await credentialsOf(copy)).toEqual([`App to ${API}: ApiKey, bound to null`])
  })

  it('says which credentials to revoke where more remain', async () => {
    await applyTo(copy, files)
    await revoke('OAuth2')
    const { failures } = await applyTo(copy, await dumpOf(source))
    expect(failures[0]!.text).toMatch(/revoke its credentials of type OAuth2 with tollgate credentials revoke sub_/)
  })

  it('leaves a copy without credentials if the source has none', async () => {
    for (const type of ['OAuth2', 'ApiKey']) await revoke(type)
    const none = await dumpOf(source)
    expect(await applyTo(copy, none)).toMatchObject({ failures: [] })
    expect(await credentialsOf(copy)).toEqual([])
    expect(await differencesOf(copy, none)).toEqual([])
  })

  it('binds to a certificate, which a copy has as well', async () => {
    await send('POST', `${path}/credentials/rotate`, { certificateThumbprint: BOUND })
    expect(await differencesOf(source, files)).toMatchObject([{ differences: [{ field: 'certificateThumbprint' }] }])
    const { failures } = await applyTo(source, await dumpOf(source))
    expect(failures).toEqual([])
    await applyTo(copy, files)
    const [failure] = (await applyTo(copy, await dumpOf(source))).failures
    expect(failure!.text).toContain(`--certificate-thumbprint ${BOUND}`)
  })

  it('is not copied if it binds some of the credentials', async () => {
    const other = await openTestPlatform()
    const federated = { issuer: ISSUER, clientId: 'app' }
    const mixed = await subscribe(senderTo(other), { securityTypes: ['OAuth2', 'Federated'], federated })
    await senderTo(other)('POST', `${mixed}/credentials/rotate`, { certificateThumbprint: BOUND })
    const { failures } = await applyTo(copy, await dumpOf(other))
    expect(failures.map(({ text }) => text)).toEqual([
      expect.stringMatching(`^${KEY}: Its credentials are bound to different certificates.`),
    ])
    expect((await readAll(contextOver(platformOver(copy)))).filter(({ kind }) => kind === 'subscription')).toEqual([])
  })
})

/** The requests that create the resources of a folder. */
const CREATIONS: Readonly<Record<string, string>> = {
  ...{ role: 'createRole', ruleset: 'createRuleset', principle: 'createPrinciple', policy: 'putTenantPolicy' },
  ...{ api: 'stageRevision', adr: 'createAdr', product: 'createProduct', consumer: 'createConsumer' },
  ...{ identityprovider: 'createIdentityProvider', user: 'createUser', subscription: 'createSubscription' },
  eventsubscription: 'createEventSubscription',
}
/** Members that a folder has under another name, and those that give nothing to a copy that lacks them. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  // The document; a revision of the service that was staged before.
  api: ['api', 'specification', 'fromRevision'],
  // A person gets an invitation; people of identity providers are left out.
  user: ['password', 'identity'],
  // It asks whether to subscribe to a deprecated API.
  subscription: ['force'],
}

it.each(HANDLERS.map(({ kind, fields }) => [kind, fields] as const))(
  'A folder has all that the creation of a resource takes: %s',
  (kind, fields) => {
    const { properties } = ALL_OPERATIONS[CREATIONS[kind]!]!.body as { readonly properties: Fields }
    const known = new Set([...fields, NAME_FIELDS[kind], ...(ELSEWHERE[kind] ?? [])])
    expect(Object.keys(properties).filter((name) => !known.has(name))).toEqual([])
  },
)
