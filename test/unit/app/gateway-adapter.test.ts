/** The secrets of backends are decrypted for the gateway threads, and an API whose secrets cannot be is withheld. */

import { describe, expect, it } from 'vitest'
import { createGatewayPort, platformPlan, type GatewayParts } from '../../../src/app/gateway-adapter.ts'
import { serveStored } from '../../../src/app/serve-stored.ts'
import { toSharedClientGrant, type Grant } from '../../../src/boundary/plan/grant.ts'
import type { PackedPlan, PlanHead } from '../../../src/boundary/plan/packed-plan.ts'
import type { BackendPlan } from '../../../src/boundary/plan/route-plan.ts'
import { SecretsUnreadable, sealSecrets } from '../../../src/control/publishing/backend-secrets.ts'
import { createVault } from '../../../src/foundation/runtime/vault.ts'

const API = 'things-v1'
const vault = createVault(Buffer.alloc(32, 1))
const otherVault = createVault(Buffer.alloc(32, 2))

function planWith(value: string, state: PackedPlan['state'] = 'Active'): PackedPlan {
  const origin = 'https://a.example'
  const owner = { tenant: 'acme', api: API }
  const input = { secretHeaders: [{ name: 'X-Secret', value }] }
  const sealed = sealSecrets(input, { ...owner, vault, nowMs: 0, origins: [origin], ca: undefined, earlier: [] })
  const backend = { origin, basePath: '', timeoutMs: 1, mayBePrivate: true, ...sealed }
  return { ...platformPlan('acme', [], []), api: API, state, backend }
}

const createSecretsFault = (): Error => new SecretsUnreadable(API, new Error('another key'))

function open(of = vault) {
  const prepared: PackedPlan[] = []
  const watched: BackendPlan[] = []
  const served: PlanHead[] = []
  const parts = {
    gatewayPool: {
      async prepare(plan: PackedPlan) {
        prepared.push(plan)
        return { swap: async () => {}, abort() {} }
      },
    },
    vault: of,
    onServed: (plan: PlanHead) => void served.push(plan),
    onBackend: (_tenant: string, _api: string, backend: BackendPlan) => void watched.push(backend),
    onCanary: (_tenant: string, _api: string, backend: BackendPlan | null) => backend && void watched.push(backend),
  } as unknown as GatewayParts
  return { port: createGatewayPort(parts), prepared, watched, served }
}

describe('a plan for the gateway threads', () => {
  it('has the secrets in clear, and the plan that was given does not', async () => {
    const { port, prepared, watched } = open()
    const plan = planWith('marker')
    await (await port.prepare(plan, [])).swap()
    const opened = { secretHeaders: [{ name: 'X-Secret', value: 'marker' }] }
    expect([prepared[0]?.backend, watched[0]]).toEqual([
      expect.objectContaining(opened),
      expect.objectContaining(opened),
    ])
    expect(JSON.stringify(plan)).not.toContain('marker')
  })

  it('has the secrets of its canary in clear as well', async () => {
    const { port, prepared, watched } = open()
    const { memberOfProductIds: _, ...plan } = planWith('of the canary')
    const packed: PackedPlan = { ...planWith('marker'), canary: { rule: { percent: 10 }, plan } }
    await (await port.prepare(packed, [])).swap()
    const values = [prepared[0]?.backend, prepared[0]?.canary?.plan.backend, ...watched].map(
      (backend) => backend?.secretHeaders?.[0]?.value,
    )
    expect(values).toEqual(['marker', 'of the canary', 'marker', 'of the canary'])
  })

  it('is reported once it serves, with its secrets as ciphertexts', async () => {
    const { port, served } = open()
    const plan = planWith('marker')
    const prepared = await port.prepare(plan, [])
    expect(served).toEqual([])
    await prepared.swap()
    expect(served).toEqual([plan])
    await (await port.prepare(platformPlan('acme', [], []), [])).swap()
    expect(served).toHaveLength(2)
  })

  it('is refused if the secrets cannot be decrypted', async () => {
    const { port, prepared } = open(otherVault)
    await expect(port.prepare(planWith('marker'), [])).rejects.toMatchObject({ code: 'state_conflict' })
    expect(prepared).toEqual([])
  })

  it('needs no secrets once its API is retired', async () => {
    const { port, prepared } = open(otherVault)
    await (await port.prepare(planWith('marker', 'Retired'), [])).swap()
    expect(prepared[0]?.backend).not.toHaveProperty('secretHeaders')
  })
})

it('The grants of a change go to the gateway threads in one command', async () => {
  const commands: (readonly Grant[])[] = []
  const known: Grant[] = []
  const port = createGatewayPort({
    gatewayPool: { applyGrants: async (grants: readonly Grant[]) => void commands.push(grants) },
    authenticator: { applyGrant: (grant: Grant) => void known.push(grant) },
    onGrant() {},
  } as unknown as GatewayParts)
  const grants = ['Ada', 'Bob', 'Cyd'].map((name) => toSharedClientGrant('acme', name))
  await port.applyGrants(grants)
  expect([commands, known]).toEqual([[grants], grants])
})

describe('a start', () => {
  it('goes on with an API whose secrets cannot be decrypted, refuses its calls and names it in the log', async () => {
    const { port, prepared } = open(otherVault)
    const counted: string[] = []
    const logged: unknown[] = []
    const log = { error: (...entry: unknown[]) => void logged.push(...entry) }
    const core = { count: (reason: string) => void counted.push(reason), log, withheld: null } as never
    const plan = planWith('marker')
    await serveStored(core, port, { plan, slas: [] })
    expect(prepared).toMatchObject([{ api: API, state: 'Withheld', backend: null }])
    expect(counted).toEqual(['revision_withheld'])
    expect(logged[0]).toMatchObject({ api: API })
    const text = logged.map((each) => `${JSON.stringify(each)} ${(each as { err?: Error }).err?.stack ?? ''}`).join(' ')
    expect(text).not.toContain(plan.backend!.secretHeaders![0]!.value)
  })

  it.each<[string, (plan: PackedPlan) => void]>([
    [
      'whose secrets cannot be decrypted',
      (plan) => {
        if (plan.canary?.plan.backend?.secretHeaders !== undefined) throw createSecretsFault()
      },
    ],
    [
      'that cannot be prepared',
      (plan) => {
        if (plan.canary?.plan.state === 'Active') throw new Error('broken')
      },
    ],
  ])('withholds a canary %s, and serves the other callers', async (_, refuse) => {
    const { port, prepared } = open()
    const refusing: typeof port = {
      ...port,
      async prepare(plan, slas) {
        refuse(plan)
        return port.prepare(plan, slas)
      },
    }
    const counted: string[] = []
    const logged: unknown[] = []
    const log = { error: (...entry: unknown[]) => void logged.push(...entry) }
    const { memberOfProductIds: _ids, ...canary } = planWith('of the canary')
    const plan: PackedPlan = { ...planWith('marker'), canary: { rule: { percent: 10 }, plan: canary } }
    const withheld: string[] = []
    const core = {
      count: (reason: string) => void counted.push(reason),
      log,
      withheld: { add: (api: string) => void withheld.push(api) },
    }
    await serveStored(core as never, refusing, { plan, slas: [] })
    expect(withheld).toEqual([API])
    expect(prepared).toMatchObject([{ state: 'Active', canary: { plan: { state: 'Withheld', backend: null } } }])
    expect(prepared[0]?.backend?.secretHeaders).toEqual([{ name: 'X-Secret', value: 'marker' }])
    expect(counted).toEqual(['revision_withheld'])
    expect(logged[0]).toMatchObject({ api: API, isCanary: true })
  })

  it('withholds the API if the active revision and its canary have secrets that cannot be decrypted', async () => {
    const { port, prepared } = open(otherVault)
    const { memberOfProductIds: _ids, ...canary } = planWith('of the canary')
    const plan: PackedPlan = { ...planWith('marker'), canary: { rule: { percent: 10 }, plan: canary } }
    await serveStored({ count() {}, log: { error() {} } } as never, port, { plan, slas: [] })
    expect(prepared).toMatchObject([{ api: API, state: 'Withheld' }])
    expect(prepared[0]).not.toHaveProperty('canary')
  })

  it('fails for other reasons', async () => {
    const { port } = open()
    const failing = { ...port, prepare: () => Promise.reject(new Error('broken')) }
    await expect(serveStored({} as never, failing, { plan: planWith('a'), slas: [] })).rejects.toThrow('broken')
  })
})
