/**
 * Sign-ins across several nodes whose clocks differ: each step at another one, guesses at all of them, one console session at all of
 * them, and a lost admin secret while they run.
 */

// @module-tag postgres
// @module-tag redis-server

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { fetchToken } from '../../src/interfaces/cli/platform-client.ts'
import { executeSql } from '../fixtures/test-postgres.ts'
import { buttonOf, createBrowser, type Page } from './browser.ts'
import { startFederatedProvider } from './federated-provider.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createPublicClient } from './person.ts'
import { publish, type Service } from './service.ts'
import { startSeveralNodes, type SeveralNodes } from './several-nodes.ts'
import { tollgate } from './tollgate.ts'

const API = 'ledger-v1'
const PERSON = { username: 'grace', password: 'nanoseconds are eleven inches', name: 'Grace Hopper' }
const MINUTE = 60_000
const ROUNDS = 10
const [GATEWAY_URL, BASE_URL] = ['http://gateway.example', 'http://platform.example']
let several: SeveralNodes
let backend: LedgerBackend
let clientId: string

beforeAll(async () => {
  backend = await startLedgerBackend()
  const settings = { BASE_URL, ALLOW_PRIVATE_ADDRESSES: 'federation' }
  several = await startSeveralNodes(['a', 'b', 'c'], settings, { clocksMs: [2_000, -2_000, 0] })
  await publish(node(0), API, ledgerDocument(), backend.url)
  await node(0).platform.post('/v1/users', { ...PERSON, roles: [{ role: 'owner' }] })
  clientId = await createPublicClient(node(0), API)
  const { items } = await node(0).platform.get<{ items: readonly { id: string; ApiId: string }[] }>('/v1/subscriptions')
  const subscription = items.find(({ ApiId }) => ApiId === API)?.id
  const { statusCode } = await request(`${node(0).baseUrl}/v1/subscriptions/${subscription}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${await node(0).platform.token()}`, 'content-type': 'application/json' },
    body: JSON.stringify({ refreshTokens: true }),
  })
  expect(statusCode).toBe(200)
}, 2 * MINUTE)

afterAll(async () => {
  await several.remove()
  await backend.close()
})

/** In turn. */
function node(turn: number): Service {
  return several.nodes[turn % several.nodes.length]!
}

/** Returns the same page as another node serves it. */
function at<Of extends { readonly url: string }>(service: Service, page: Of): Of {
  const { pathname, search } = new URL(page.url)
  return { ...page, url: `${service.gatewayUrl}${pathname}${search}` }
}

interface Begun {
  readonly device_code: string
  readonly user_code: string
}

async function post(url: string, form: Readonly<Record<string, string>>): Promise<{ status: number; body: unknown }> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const { statusCode, body } = await request(url, {
    method: 'POST',
    headers,
    body: new URLSearchParams(form).toString(),
  })
  return { status: statusCode, body: await body.json() }
}

const beginDevice = async ({ gatewayUrl }: Service): Promise<Begun> =>
  (await post(`${gatewayUrl}/oauth2/v2/device_authorization`, { client_id: clientId })).body as Begun

const pollDevice = ({ gatewayUrl }: Service, { device_code: code }: Begun) =>
  post(`${gatewayUrl}/${API}/oauth2/v2/token`, {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    client_id: clientId,
    device_code: code,
  })

/** Each page comes from another node than the form before it. */
async function allowDevice({ user_code: code }: Begun, turn: number): Promise<Page> {
  const browser = createBrowser()
  const entry = await browser.open(`${node(turn).gatewayUrl}/oauth2/v2/device`)
  const login = await browser.submit(at(node(turn + 1), entry), { user_code: code })
  const { username, password } = PERSON
  const consent = await browser.submit(at(node(turn + 2), login), { username, password })
  return browser.submit(at(node(turn + 3), consent), {}, buttonOf(consent, 'Allow'))
}

describe('a sign-in for a device, each step at another node', () => {
  it('gives tokens once, which every node accepts', async () => {
    for (let round = 0; round < 3; round++) {
      const begun = await beginDevice(node(round))
      expect((await pollDevice(node(round + 1), begun)).body).toMatchObject({ error: 'authorization_pending' })
      expect((await pollDevice(node(round + 2), begun)).body).toMatchObject({ error: 'slow_down' })
      expect((await allowDevice(begun, round)).html).toContain('The device is connected')
      const polls = await Promise.all(several.nodes.map((each) => pollDevice(each, begun)))
      const given = polls.filter(({ status }) => status === 200)
      expect(given).toHaveLength(1)
      const { access_token: token } = given[0]!.body as { access_token: string }
      const headers = { authorization: `Bearer ${token}` }
      for (const { gatewayUrl } of several.nodes) {
        const { statusCode, body } = await request(`${gatewayUrl}/${API}/entries?n=1`, { headers })
        await body.dump()
        expect(statusCode).toBe(200)
      }
    }
  })

  it('ends after ten wrong codes of a browser, at whichever nodes', async () => {
    const browser = createBrowser()
    const page = await browser.open(`${node(0).gatewayUrl}/oauth2/v2/device`)
    for (let guess = 0; guess < 10; guess++) {
      expect((await browser.submit(at(node(guess), page), { user_code: 'BBBBB-BBBBB' })).status).toBe(400)
    }
    for (const each of several.nodes) {
      expect((await browser.submit(at(each, page), { user_code: 'BBBBB-BBBBB' })).status).toBe(429)
    }
  })
})

describe('passwords that are guessed at several nodes', () => {
  it.each(['grace', 'nobody-of-this-name'])('of %s are compared ten times in total', async (name) => {
    const guess = async (index: number): Promise<number> => {
      const browser = createBrowser()
      const entry = await browser.open(`${node(index).gatewayUrl}/oauth2/v2/device`)
      const login = await browser.submit(entry, { user_code: (await beginDevice(node(index))).user_code })
      return (await browser.submit(login, { username: name, password: `guess ${index}` })).status
    }
    const statuses: number[] = []
    // One per node at once: a node of a busy machine would answer 503 to a queue of them.
    for (let turn = 0; turn < 18; turn += 3) {
      statuses.push(...(await Promise.all([guess(turn), guess(turn + 1), guess(turn + 2)])))
    }
    expect(statuses.toSorted()).toEqual([...Array<number>(10).fill(401), ...Array<number>(8).fill(429)])
  })
})

interface ConsoleLogin {
  /** The status of a request of the console at each node, sent at once. */
  readonly ask: () => Promise<readonly number[]>
  /** Lets the session need new tokens. */
  readonly age: () => Promise<unknown>
}

/** Signs in to the console as a new person. */
async function signIn(username: string): Promise<ConsoleLogin> {
  const { password } = PERSON
  await node(0).platform.post('/v1/users', { username, password, name: 'Ada', roles: [{ role: 'owner' }] })
  const browser = createBrowser()
  const local = (url: string): string => url.replace(GATEWAY_URL, node(1).gatewayUrl).replace(BASE_URL, node(2).baseUrl)
  const follow = (page: Page): Promise<Page> => browser.open(local(String(page.headers['location'])))
  const login = await follow(await browser.open(`${node(0).baseUrl}/console/sign-in`))
  const back = await browser.submit(login, { username, password })
  const done = await follow(back)
  const cookie = [done.headers['set-cookie'] ?? []].flat().find((line) => /^tollgate-console=[^;]/.test(line))
  const headers = { cookie: String(cookie).split(';')[0]!, 'tollgate-console': '1' }
  const url = several.settings['DATABASE_URL']!
  return {
    ask: () =>
      Promise.all(
        [...several.nodes, ...several.nodes].map(async ({ baseUrl }) => {
          const { statusCode, body } = await request(`${baseUrl}/console/api/v1/me`, { headers })
          await body.dump()
          return statusCode
        }),
      ),
    age: () =>
      executeSql(
        url,
        `UPDATE document SET body = jsonb_set(body::jsonb, '{tokenUntilMs}', '1')::text WHERE kind = 'console_session'`,
      ),
  }
}

describe('a console session that several nodes renew at the same time', () => {
  it('continues', async () => {
    const { ask, age } = await signIn('ada')
    for (let round = 0; round < ROUNDS; round++) {
      await age()
      expect(await ask()).toEqual([200, 200, 200, 200, 200, 200])
    }
    for (const each of several.nodes) expect(each.errors()).not.toContain('refresh token was used twice')
  })
})

describe('a person who is disabled at one node', () => {
  it('has no access at the others after the answer', async () => {
    for (let round = 0; round < 3; round++) {
      const username = `person-${round}`
      const { ask } = await signIn(username)
      expect(new Set(await ask())).toEqual(new Set([200]))
      const { items } = await node(0).platform.get<{ items: { id: string; username: string }[] }>('/v1/users?limit=200')
      const id = items.find((user) => user.username === username)?.id
      await node(round).platform.post(`/v1/users/${id}/disable`, {})
      expect(new Set(await ask())).toEqual(new Set([401]))
    }
  })
})

describe('a federated provider that is registered at one node', () => {
  it('has its clients known and forgotten by all nodes with each answer', async () => {
    const secret = 'a secret that only the provider knows'
    const clients = [0, 1, 2].map((round) => ({ id: `partner-${round}`, secret }))
    const provider = await startFederatedProvider({ clients, scopes: ['entries:read'] })
    onTestFinished(() => provider.leave())
    const statuses = (token: string) =>
      Promise.all(
        several.nodes.map(async ({ gatewayUrl }) => {
          const headers = { authorization: `Bearer ${token}` }
          const { statusCode, body } = await request(`${gatewayUrl}/${API}/entries?n=1`, { headers })
          await body.dump()
          return statusCode
        }),
      )
    for (const [round, { id: clientOfPartner }] of clients.entries()) {
      const token = await provider.token(clientOfPartner, API)
      expect(await statuses(token)).toEqual([401, 401, 401])
      const { issuer } = provider
      const { id } = await node(round).platform.post<{ id: string }>('/v1/identityproviders', { issuer })
      // From now on the nodes remember the client as unknown.
      expect(await statuses(token)).toEqual([403, 403, 403])
      const consumer = (
        await node(round).platform.post<{ id: string }>('/v1/consumers', {
          name: `Partner ${round}`,
          kind: 'application',
        })
      ).id
      await node(round + 1).platform.post('/v1/subscriptions', {
        ...{ consumer, api: API, securityTypes: ['Federated'] },
        federated: { issuer, clientId: clientOfPartner },
      })
      expect(await statuses(token)).toEqual([200, 200, 200])
      const authorization = `Bearer ${await node(round + 2).platform.token()}`
      const { statusCode } = await request(`${node(round + 2).baseUrl}/v1/identityproviders/${id}`, {
        method: 'DELETE',
        headers: { authorization },
      })
      expect(statusCode).toBe(204)
      expect(await statuses(token)).toEqual([401, 401, 401])
    }
    for (const each of several.nodes) expect(each.errors()).not.toContain('could not be stored, removed or published')
  })
})

describe('tollgate admin reset with DATABASE_URL', () => {
  const credential = /client id +(\S+)\s+client secret +(\S+)/

  it('is refused without the key of the nodes, with another one, and for an empty database', async () => {
    const { DATABASE_URL, MASTER_KEY } = several.settings as { DATABASE_URL: string; MASTER_KEY: string }
    const reset = (env: Record<string, string>, ...more: string[]) => tollgate(['admin', 'reset', ...more], env)
    const refused = (text: string) => ({ code: 2, out: '', err: expect.stringContaining(text) })
    expect(await reset({ DATABASE_URL })).toMatchObject(refused('MASTER_KEY'))
    expect(await reset({ DATABASE_URL, MASTER_KEY: 'cd'.repeat(32) })).toMatchObject(refused('does not match'))
    expect(await reset({ DATABASE_URL, MASTER_KEY }, '--data-dir', '/tmp')).toMatchObject(refused('two registries'))
    const empty = await several.postgres.createDatabase()
    expect(await reset({ DATABASE_URL: empty, MASTER_KEY })).toMatchObject(refused('no node has started on it'))
    const { rows } = await executeSql(empty, `SELECT nspname FROM pg_namespace WHERE nspname = 'tollgate'`)
    expect(rows).toEqual([])
  })

  it('replaces the admin of running nodes, which refuse the former one when it ends', async () => {
    const { DATABASE_URL, MASTER_KEY } = several.settings as { DATABASE_URL: string; MASTER_KEY: string }
    const former = await node(0).platform.token()
    const statuses = (token: string) =>
      Promise.all(
        several.nodes.map(async ({ baseUrl }) => {
          const headers = { authorization: `Bearer ${token}` }
          return (await fetch(`${baseUrl}/v1/apis`, { headers })).status
        }),
      )
    expect(await statuses(former)).toEqual([200, 200, 200])
    const { code, out } = await tollgate(['admin', 'reset'], { DATABASE_URL, MASTER_KEY })
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('Every node in the list refuses') })
    expect(await statuses(former)).toEqual([401, 401, 401])
    // No setting names the addresses: the nodes, which started at the same time, have noted them.
    expect(out).toContain(`  ${GATEWAY_URL}/oauth2/v2/password?link=usr_`)
    expect(out).toContain(`Last started at: ${BASE_URL} (platform), ${GATEWAY_URL} (gateway)`)
    const [, clientOfAdmin = '', clientSecret = ''] = credential.exec(out) ?? []
    for (const each of several.nodes) {
      const made = await fetchToken({ ...each, api: 'platform-v1', clientId: clientOfAdmin, clientSecret })
      expect(await statuses(made.accessToken)).toEqual([200, 200, 200])
      expect(each.errors()).not.toContain(clientSecret)
    }
  })
})
