/** A canary that this node cannot serve any more: it prevents neither the start, nor changes of its API, nor its own end. */

import { describe, expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import type { PackedPlan } from '../../../../src/boundary/plan/packed-plan.ts'
import { COMPILED_KIND } from '../../../../src/control/publishing/compiled-document.ts'
import { CONTENT_KIND } from '../../../../src/control/publishing/published-content.ts'
import { StoreUnwritable } from '../../../../src/storage/store/unwritable.ts'
import {
  ACME,
  base64,
  openTestCatalogue,
  orders,
  publishApi,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

async function openCanary() {
  const catalogue = openTestCatalogue()
  const { proxy } = await publishApi(catalogue)
  const known = new Set((await catalogue.registry.list(COMPILED_KIND, { limit: 9 })).map(({ id }) => id))
  await catalogue.proxies.stage(ACME, { api: API, specification: base64(orders({ version: '1.3.0' })) })
  await catalogue.proxies.activate(ACME, proxy, { percent: 10 })
  const all = (await catalogue.registry.list(COMPILED_KIND, { limit: 9 })).map(({ id }) => id)
  const [active, canary] = [all.find((id) => known.has(id))!, all.find((id) => !known.has(id))!]
  return { catalogue, proxy, active, canary }
}

/** Makes a document unreadable, as one that an earlier version accepted and the rules of this one do not. */
async function spoil({ registry }: TestCatalogue, id: string): Promise<void> {
  const compiled = await registry.get(COMPILED_KIND, id)
  const content = await registry.get(CONTENT_KIND, id)
  if (compiled === null || content === null) throw new Error('the document is not stored')
  const { tenant } = compiled
  await registry.commit(ACME, 'spoil', [
    { ...{ kind: COMPILED_KIND, id, tenant }, expected: compiled.revision, body: { ...compiled.body, rules: 0 } },
    {
      ...{ kind: CONTENT_KIND, id, tenant },
      expected: content.revision,
      body: { mediaType: 'application/json', base64: 'e30=' },
    },
  ])
}

/** The gateway compiles no canary. */
function refuseCanaries({ gateway }: TestCatalogue, cause: unknown): PackedPlan[] {
  const packed: PackedPlan[] = []
  const { prepare } = gateway
  gateway.prepare = async (plan, slas) => {
    if (plan.canary?.plan.state === 'Active') throw cause
    packed.push(plan)
    return prepare(plan, slas)
  }
  return packed
}

const WITHHELD = { state: 'Active', canary: { plan: { state: 'Withheld', backend: null, revision: 2 } } }
const cors = { origins: ['https://app.example'] }

describe('a canary whose document cannot be compiled', () => {
  it('does not prevent the start: the callers of the active revision are served', async () => {
    const { catalogue, canary } = await openCanary()
    await spoil(catalogue, canary)
    const node = catalogue.restart()
    const plans = await Array.fromAsync(node.proxies.activePlans())
    expect(plans).toMatchObject([{ plan: WITHHELD }])
    expect(node.canariesWithheld).toEqual([API])
  })

  it('prevents no change of its API', async () => {
    const { catalogue, canary } = await openCanary()
    await spoil(catalogue, canary)
    const node = catalogue.restart()
    const packed = refuseCanaries(node, new Error('not reached'))
    await node.apiPolicies.put(ACME, API, { cors })
    expect(packed).toMatchObject([{ ...WITHHELD, policyCors: cors }])
    await node.retirement.deprecate(ACME, API, { retirementDate: '2027-09-01' })
    expect(packed.at(-1)).toMatchObject({ ...WITHHELD, state: 'Deprecated' })
    expect(node.canariesWithheld).toEqual([API, API])
  })

  it('can be discarded', async () => {
    const { catalogue, proxy, canary } = await openCanary()
    await spoil(catalogue, canary)
    const node = catalogue.restart()
    expect(await node.proxies.discard(ACME, proxy)).toMatchObject({ canary: null, stagingRevision: null })
    expect(node.gateway.calls).toEqual(['prepare orders-v1 1', 'swap orders-v1 1'])
  })
})

describe('a canary that the gateway threads cannot compile', () => {
  it('is withheld by a change of its API, and is tried again by the next one', async () => {
    const { catalogue } = await openCanary()
    const { prepare } = catalogue.gateway
    const packed = refuseCanaries(catalogue, new Problem('specification_invalid', 'A schema cannot be compiled.'))
    await catalogue.apiPolicies.put(ACME, API, { cors })
    expect(packed).toMatchObject([WITHHELD])
    expect(catalogue.canariesWithheld).toEqual([API])
    catalogue.gateway.prepare = (plan, slas) => (packed.push(plan), prepare(plan, slas))
    await catalogue.apiPolicies.put(ACME, API, {})
    expect(packed.at(-1)).toMatchObject({ canary: { plan: { state: 'Active' } } })
    expect(catalogue.canariesWithheld).toEqual([API])
  })

  it.each([
    ['the gateway is busy', new Problem('unavailable', 'Retry later.')],
    ['the disk fails', new StoreUnwritable('full')],
  ])('is not withheld while only %s: the change is refused', async (_, cause) => {
    const { catalogue } = await openCanary()
    const packed = refuseCanaries(catalogue, cause)
    await expect(catalogue.apiPolicies.put(ACME, API, { cors })).rejects.toThrow(cause)
    expect([packed, catalogue.canariesWithheld]).toEqual([[], []])
  })
})

describe('an active revision that cannot be prepared', () => {
  it('refuses the change and the discarding of its canary, and says why', async () => {
    const { catalogue, proxy } = await openCanary()
    catalogue.gateway.prepare = async () => {
      throw new Problem('specification_invalid', 'A schema cannot be compiled.')
    }
    await expect(catalogue.apiPolicies.put(ACME, API, { cors })).rejects.toMatchObject({
      code: 'specification_invalid',
    })
    await expect(catalogue.proxies.discard(ACME, proxy)).rejects.toMatchObject({
      code: 'state_conflict',
      message:
        'The active revision cannot be prepared, so that the canary keeps its callers: A schema cannot be compiled.',
    })
    catalogue.gateway.prepare = async () => {
      throw new Error('secret detail')
    }
    await expect(catalogue.proxies.discard(ACME, proxy)).rejects.toMatchObject({
      code: 'state_conflict',
      message: expect.not.stringContaining('secret') as string,
    })
    expect(catalogue.canariesWithheld).toEqual([])
    expect(await catalogue.proxies.get('acme', proxy)).toMatchObject({ canary: { revision: 2 } })
  })

  it('stops the start, as without a canary', async () => {
    const { catalogue, active } = await openCanary()
    await spoil(catalogue, active)
    const node = catalogue.restart()
    await expect(Array.fromAsync(node.proxies.activePlans())).rejects.toMatchObject({ code: 'specification_invalid' })
    expect(node.canariesWithheld).toEqual([])
  })
})
