/**
 * No caller gives a client a right that the caller does not hold: `SEEDS` random sequences of commands, from `SEED` on.
 *
 * A right is a scope for the tenant, or a scope of the own width for one consumer.
 */

import { expect, it } from 'vitest'
import { ACCOUNT_SCOPES } from '../../../src/control/access/grants.ts'
import { isOwnScope, wideScope } from '../../../src/foundation/domain/scope-width.ts'
import { platformScopes } from '../../../src/interfaces/platform/operations.ts'
import { openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'
import { createRandom, type Random } from '../../random.ts'
import { readSeed } from '../../random-seed.ts'

const SEEDS = Number(process.env['SEEDS'] ?? 8)
const SEED = readSeed(1)
const ALL = [...platformScopes(), 'platform:admin']
const OWN = ALL.filter(isOwnScope)
/** Each caller has some of these in one width. */
const MANAGING = ['subscriptions:write', 'subscriptions:read', 'credentials:write', 'credentials:read']
const ROUNDS = 30

interface Holder {
  readonly token: string
  holds(scope: string, consumer: string): boolean
}

interface Client {
  readonly id: string
  readonly consumer: string
  readonly scopes: readonly string[]
}

async function setUp() {
  const platform = await openTestPlatform()
  const admin = platform.token('acme', ALL)
  const body = { title: 'Platform', major: 1, version: '1.0.0', state: 'Active', ownScopes: ALL }
  const entry = { kind: 'api', id: 'platform-v1', tenant: 'acme', expected: 0, body, keys: { state: 'Active' } }
  await platform.registry.commit({ tenant: 'acme', consumer: 'system' }, 'test', [entry])
  const consumers: string[] = []
  for (const name of ['Ada', 'Bob', 'Cyd']) {
    const made = await platform.send('POST', '/v1/consumers', { token: admin, body: { name, kind: 'application' } })
    consumers.push(String(made.body['id']))
  }
  return { platform, admin, consumers }
}

const some = (random: Random, items: readonly string[], oneIn: number): string[] =>
  items.filter(() => random.below(oneIn) === 0)

function pick<T>(random: Random, items: readonly T[]): T {
  return items[random.below(items.length)]!
}

const managing = (random: Random): string[] => MANAGING.map((scope) => (random.below(2) === 0 ? scope : `${scope}:own`))

/** A client of one consumer. */
function openClient(platform: TestPlatform, random: Random, consumers: readonly string[]): Holder {
  const own = pick(random, consumers)
  const scopes = new Set([...some(random, ALL, 3), ...managing(random)])
  return {
    token: platform.token('acme', [...scopes], undefined, { consumer: own }),
    holds: (scope, consumer) =>
      scopes.has(wideScope(scope)) || (isOwnScope(scope) && scopes.has(scope) && consumer === own),
  }
}

/** A person who has different rights for two consumers, by a client of the third. */
async function openPerson(platform: TestPlatform, admin: string, random: Random, consumers: readonly string[]) {
  const [first, second, third] = consumers as [string, string, string]
  const given = new Map(
    [first, second].map((consumer) => [consumer, new Set([...some(random, OWN, 2), ...managing(random)])]),
  )
  const wide = new Set(some(random, ALL, 6).filter((scope) => !isOwnScope(scope)))
  const roles: object[] = []
  for (const [consumer, scopes] of given) {
    const name = `for-${roles.length}`
    await platform.send('POST', '/v1/roles', {
      token: admin,
      body: { name, scopes: [...new Set([...scopes, ...wide])] },
    })
    roles.push({ role: name, consumers: [consumer] })
  }
  for (const scopes of given.values()) for (const scope of scopes) if (!isOwnScope(scope)) wide.add(scope)
  // Every person has these, whatever the roles.
  for (const scope of ACCOUNT_SCOPES) wide.add(scope)
  const made = await platform.send('POST', '/v1/users', { token: admin, body: { username: 'u', name: 'U', roles } })
  const person = String(made.body['id'])
  const entitled = (await platform.people.entitlements.ofUser('acme', person))!.scopes
  return {
    token: platform.token('acme', [...entitled], undefined, { person, consumer: third }),
    holds: (scope: string, consumer: string) =>
      wide.has(wideScope(scope)) || (isOwnScope(scope) && given.get(consumer)?.has(scope) === true),
  }
}

async function clientsOf(platform: TestPlatform, admin: string): Promise<readonly Client[]> {
  const { body } = await platform.send('GET', '/v1/subscriptions?limit=500', { token: admin })
  return body['items'] as Client[]
}

let accepted = 0
it.each(Array.from({ length: SEEDS }, (_, at) => SEED + at))(
  'no sequence of commands gives a client a right that the caller does not hold (seed %i)',
  async (seed) => {
    const random = createRandom(seed)
    const { platform, admin, consumers } = await setUp()
    const caller =
      random.below(2) === 0
        ? openClient(platform, random, consumers)
        : await openPerson(platform, admin, random, consumers)
    const mayHave = consumers.flatMap((consumer) => ALL.filter((scope) => caller.holds(scope, consumer)))
    const scopesFor = () => some(random, random.below(2) === 0 ? mayHave : ALL, 1 + random.below(8))
    for (const consumer of consumers) {
      for (const scopes of [some(random, ALL, 4), some(random, OWN, 2)]) {
        await platform.send('POST', '/v1/subscriptions', {
          token: admin,
          body: { consumer, api: 'platform-v1', scopes },
        })
      }
    }
    let before = await clientsOf(platform, admin)
    for (let round = 0; round < ROUNDS; round++) {
      const { id, consumer: its } = pick(random, before)
      const consumer = pick(random, consumers)
      const scopes = [...new Set(scopesFor())]
      const [method, path, sent] = pick<readonly [string, string, object?]>(random, [
        ['POST', '/v1/subscriptions', { consumer, api: 'platform-v1', scopes }],
        ['POST', '/v1/subscriptions', { consumer, api: 'platform-v1' }],
        ['PUT', `/v1/subscriptions/${id}/scopes`, { scopes }],
        ['POST', `/v1/subscriptions/${id}/credentials/rotate`],
        ['GET', `/v1/subscriptions/${id}/credentials`],
      ])
      const chosen = random.below(2) === 0 ? {} : { 'x-consumer-id': random.below(3) === 0 ? consumer : its }
      const answer = await platform.send(method, path, {
        token: caller.token,
        headers: chosen,
        ...(sent && { body: sent }),
      })
      if (answer.status < 300) accepted++
      const after = await clientsOf(platform, admin)
      for (const client of after) {
        const had = before.find((each) => each.id === client.id)?.scopes ?? []
        const gained = client.scopes.filter((scope) => !had.includes(scope))
        expect([path, gained.filter((scope) => !caller.holds(scope, client.consumer))]).toEqual([path, []])
        if (!path.includes(client.id) || !/"(clientSecret|apiKey)":"/.test(answer.text)) continue
        expect([path, client.scopes.filter((scope) => !caller.holds(scope, client.consumer))]).toEqual([path, []])
      }
      before = after
    }
  },
)

it('commands of these sequences succeed', () => {
  expect(accepted).toBeGreaterThan(SEEDS)
})
