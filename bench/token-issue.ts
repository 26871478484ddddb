/**
 * What the number of people and roles costs when a token is issued: by client credentials, and for an authorization code of a
 * person, without password hashing.
 *
 * Two registries in one process, with 10 and with 100,000 people, who each hold three of 1,000 roles; blocks of requests alternate
 * between them. A code is created before its request is timed; its use is a commit on disk, which is part of the request. On a busy
 * machine the CPU time is the figure to compare.
 *
 *   BENCH_PEOPLE=100000 BENCH_BLOCKS=20 BENCH_REQUESTS=100 node bench/token-issue.ts
 */

import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFirstAdmin } from '../src/control/access/first-admin.ts'
import { createGrants } from '../src/control/access/grants.ts'
import { createLoginThrottle } from '../src/control/access/people/login-throttle.ts'
import { createPeople } from '../src/control/access/people/people.ts'
import { roleWrite } from '../src/control/access/people/role-document.ts'
import { userWrite } from '../src/control/access/people/user-document.ts'
import { openPersonRevocations } from '../src/control/access/person-revocations.ts'
import { openTokenRevocations } from '../src/control/access/token-revocations.ts'
import { createTokenScopes } from '../src/control/access/token-scopes.ts'
import { createAuthorization } from '../src/app/authorization-server.ts'
import { createKeyedMutex } from '../src/control/command/keyed-mutex.ts'
import { PLATFORM_API } from '../src/foundation/domain/platform-api.ts'
import { createAuthorizationCodes } from '../src/control/identity/authorization-codes.ts'
import { openKeyRing } from '../src/control/identity/key-ring.ts'
import { createSelfRegisteredClients } from '../src/control/identity/clients/self-registered-clients.ts'
import { createRefreshGrants } from '../src/control/identity/refresh-grants.ts'
import { createGuardedFetch } from '../src/foundation/outbound/guarded-fetch.ts'
import { platformScopes } from '../src/interfaces/platform/operations.ts'
import { systemClock as clock } from '../src/foundation/runtime/clock.ts'
import { createIdFactory } from '../src/foundation/runtime/ids.ts'
import { createLog } from '../src/foundation/runtime/log.ts'
import { createPasswordHasher } from '../src/foundation/runtime/password-hash.ts'
import { createVault } from '../src/foundation/runtime/vault.ts'
import type { Registry, Write } from '../src/storage/store/registry.ts'
import { createIdentityStores } from '../src/app/identity-stores.ts'
import { openSqliteRegistry } from '../src/storage/store/sqlite/registry.ts'
import { describeMachine } from './machine.ts'
import { percentile } from './spread.ts'

const FEW = 10
const MANY = Number(process.env['BENCH_PEOPLE'] ?? 100_000)
const ROLES = 1_000
const ROLES_OF_PERSON = 3
const BLOCKS = Number(process.env['BENCH_BLOCKS'] ?? 20)
const REQUESTS = Number(process.env['BENCH_REQUESTS'] ?? 100)
const P99_MS_MAX = 20
const BATCH = 1_000
const TENANT = 'default'
const AUTHOR = { tenant: TENANT, consumer: 'system' }
const GATEWAY_URL = 'https://gateway.example'
const VERIFIER = 'a-verifier-of-forty-three-characters-or-more'

type Issuer = Awaited<ReturnType<typeof openIssuer>>
interface Sample {
  readonly elapsedMs: number
  readonly cpuMs: number
}

type Grant = 'client_credentials' | 'authorization_code'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-token-issue-'))
console.log(`machine: ${describeMachine()}`)
try {
  const few = await openIssuer(FEW)
  const many = await openIssuer(MANY)
  for (const grant of ['client_credentials', 'authorization_code'] as const) await compare(grant, few, many)
  for (const { close } of [few, many]) close()
} finally {
  rmSync(folder, { recursive: true })
}

async function compare(grant: Grant, few: Issuer, many: Issuer): Promise<void> {
  const samples = new Map<Issuer, Sample[]>([
    [few, []],
    [many, []],
  ])
  for (const issuer of [few, many]) await block(issuer, grant)
  for (let round = 0; round < BLOCKS; round++) {
    for (const [issuer, all] of samples) all.push(...(await block(issuer, grant)))
  }
  const [ofFew = [], ofMany = []] = [...samples.values()]
  console.log(`${grant}, ${MANY} people beside ${FEW}; target of the elapsed time: p99 ≤ ${P99_MS_MAX} ms`)
  console.log(`  elapsed: ${elapsedOf(ofMany, ofFew)}`)
  const [cpuOfMany, cpuOfFew] = [cpuOf(ofMany), cpuOf(ofFew)]
  console.log(`  CPU, mean: ${cpuOfMany.toFixed(2)} ms (× ${(cpuOfMany / cpuOfFew).toFixed(2)})`)
}

/** The CPU time of a thread is counted in ticks of some milliseconds, so that only its mean is exact. */
function cpuOf(samples: readonly Sample[]): number {
  return samples.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / samples.length
}

function elapsedOf(ofMany: readonly Sample[], ofFew: readonly Sample[]): string {
  const sorted = (samples: readonly Sample[]) => samples.map(({ elapsedMs }) => elapsedMs).toSorted((a, b) => a - b)
  const [many, few] = [sorted(ofMany), sorted(ofFew)]
  const figures = [50, 99].map((percent) => {
    const value = percentile(many, percent)
    return `p${percent} ${value.toFixed(2)} ms (× ${(value / percentile(few, percent)).toFixed(2)})`
  })
  return figures.join(', ')
}

/** Issues tokens for different people. */
async function block(issuer: Issuer, grant: Grant): Promise<readonly Sample[]> {
  const samples: Sample[] = []
  for (let request = 0; request < REQUESTS; request++) {
    const form = await issuer.prepare(grant)
    const [startedAt, cpu] = [performance.now(), process.threadCpuUsage()]
    const { status, body } = await issuer.request(form)
    const elapsedMs = performance.now() - startedAt
    const { user, system } = process.threadCpuUsage(cpu)
    samples.push({ elapsedMs, cpuMs: (user + system) / 1_000 })
    if (status !== 200) throw new Error(`the token endpoint answered ${status}: ${JSON.stringify(body)}`)
  }
  return samples
}

async function openIssuer(people: number) {
  const registry = openSqliteRegistry({ path: join(folder, `${people}.db`), clock })
  const secrets = { vault: createVault(randomBytes(32)), createId: createIdFactory(clock.nowMs), randomBytes }
  const scopes = platformScopes()
  const shared = { ...secrets, registry, clock, scopes, gatewayUrl: GATEWAY_URL, baseUrl: GATEWAY_URL, count: () => {} }
  const { made } = await createFirstAdmin({ ...shared, tenant: TENANT, chosen: null })
  if (made === null) throw new Error('the registry is not new')
  const ids = await addPeople(registry, people, secrets.createId, scopes)
  const endpoint = await createEndpoint(shared)
  const { grant } = (await createGrants({ registry }).clientFor(made.clientId)) ?? {}
  const codes = createAuthorizationCodes({ ...shared, keyedHash: secrets.vault.keyedHash })
  const client = [
    ['client_id', made.clientId],
    ['client_secret', made.clientSecret],
  ] as const
  let next = 0

  return {
    close: registry.close,
    async prepare(type: Grant) {
      const form = [['grant_type', type], ...client] as (readonly [string, string])[]
      if (type === 'client_credentials') return form
      // A prime step visits people in an order that has nothing to do with the pages of the file.
      const id = ids[(next = (next + 7_919) % ids.length)]!
      const code = await codes.create({
        clientId: made.clientId,
        tenant: TENANT,
        credential: grant?.credential ?? '',
        api: PLATFORM_API,
        redirectUri: 'https://app.example/back',
        challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
        person: { id, username: id, name: id, epoch: 0 },
        scope: null,
        wantsIdToken: false,
        wantsProfile: false,
        nonce: null,
        loggedInAtMs: clock.nowMs(),
      })
      return [...form, ['code', code], ['code_verifier', VERIFIER]] as const
    },
    request: (form: readonly (readonly [string, string])[]) =>
      endpoint({
        endpoint: 'token',
        api: PLATFORM_API,
        method: 'POST',
        form,
        authorization: undefined,
        cookie: undefined,
        address: '',
      }),
  }
}

async function addPeople(
  registry: Registry,
  people: number,
  createId: (prefix: string) => string,
  scopes: readonly string[],
): Promise<readonly string[]> {
  const ids = Array.from({ length: people }, () => createId('usr'))
  const roles = Array.from({ length: ROLES }, (_, index): Write => {
    const held = scopes.filter((_scope, position) => (index + position) % 4 === 0)
    return roleWrite(createId('rol'), TENANT, 0, { name: `role-${index}`, description: '', scopes: held })
  })
  const users = ids.map((id, index): Write => {
    const held = Array.from({ length: ROLES_OF_PERSON }, (_, step) => ({ role: `role-${(index + step * 31) % ROLES}` }))
    return userWrite(id, TENANT, 0, { username: `person-${index}`, name: 'Person', passwordHash: null, roles: held })
  })
  const writes = [...roles, ...users]
  for (let from = 0; from < writes.length; from += BATCH) {
    await registry.commit(AUTHOR, 'bench.people', writes.slice(from, from + BATCH))
  }
  return ids
}

type EndpointOptions = Pick<
  Parameters<typeof createAuthorization>[0],
  'registry' | 'vault' | 'createId' | 'clock' | 'gatewayUrl' | 'baseUrl' | 'count'
> & { readonly scopes: readonly string[]; readonly randomBytes: typeof randomBytes }

async function createEndpoint(options: EndpointOptions) {
  const { registry } = options
  const gateway = { revokeToken: async () => {}, revokePeople: async () => {} }
  const revocations = await openPersonRevocations({ ...options, gateway, tokenLifetimeMs: 3_600_000 })
  const stores = createIdentityStores(null, clock)
  const throttle = createLoginThrottle({ attempts: stores.attempts.login, keyedHash: options.vault.keyedHash })
  const people = createPeople({
    ...options,
    revocations,
    throttle,
    passwords: createPasswordHasher({ randomBytes }),
    mutex: createKeyedMutex(),
    isRequired: async () => false,
    operator: TENANT,
  })
  const revokedTokens = await openTokenRevocations({ ...options, gateway })
  const { fetch } = createGuardedFetch({ clock, allowPrivate: false })
  return createAuthorization({
    ...options,
    stores,
    people,
    throttle,
    keyRing: await openKeyRing({ ...options, author: AUTHOR }),
    grants: createGrants({ registry }),
    revocations: revokedTokens,
    refreshGrants: createRefreshGrants({
      ...options,
      keyedHash: options.vault.keyedHash,
      revoke: revokedTokens.revoke,
    }),
    registeredClients: createSelfRegisteredClients({
      ...{ ...options, mutex: createKeyedMutex(), isAllowed: false },
      endCodes: async () => {},
    }),
    allowsRegistration: false,
    lastUses: { note: () => {} },
    // No provider signs people in, and no client publishes a metadata document.
    federation: { publishedBy: () => null, refetch: async () => {}, fetch, clock },
    clientMetadata: { ...options, fetch, allowPrivate: false },
    isRevoked: () => false,
    scopesOf: createTokenScopes({ registry }),
    log: createLog('silent'),
  })
}
