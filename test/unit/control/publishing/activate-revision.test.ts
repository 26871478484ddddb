import { describe, expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import type { StageInput } from '../../../../src/control/publishing/deployment.ts'
import { PROXY_KIND } from '../../../../src/control/publishing/proxy-document.ts'
import type { Proxies } from '../../../../src/control/publishing/proxies.ts'
import type { ActivePlan } from '../../../../src/control/publishing/serving-plan.ts'
import {
  ACME,
  base64,
  declaration,
  publishApi,
  openTestCatalogue,
  orders,
  RIVAL,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const stageInput = (more: Partial<StageInput> = {}): StageInput => ({
  api: API,
  specification: base64(orders()),
  ...more,
})

async function plansOf(proxies: Proxies): Promise<ActivePlan[]> {
  return Array.fromAsync(proxies.activePlans())
}

/** Writes the document unchanged, as a concurrent process, so that its revision increases. */
async function touch({ registry }: TestCatalogue, id: string): Promise<void> {
  const document = await registry.get(PROXY_KIND, id)
  if (document === null) throw new Error('the proxy is gone')
  const { kind, tenant, revision, body } = document
  const keys = { api: body.api }
  await registry.commit(ACME, 'test.touch', [{ kind, id, tenant, expected: revision, body, keys, unique: ['api'] }])
}

describe('an activation', () => {
  it('prepares every thread, commits, swaps, and then returns', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway, apis } = catalogue
    const { id } = await proxies.stage(ACME, stageInput())
    const seen: unknown[] = []
    gateway.onPrepare = async () => void seen.push((await proxies.get('acme', id)).activeRevision)
    gateway.onSwap = async () => void seen.push((await proxies.get('acme', id)).activeRevision)
    const proxy = await proxies.activate(ACME, id)

    expect(seen).toEqual([null, 1])
    expect(gateway.calls).toEqual(['prepare orders-v1 1', 'swap orders-v1 1'])
    expect(proxy).toMatchObject({ state: 'active', revision: 1, activeRevision: 1, stagingRevision: null })
    expect((await apis.get('acme', API)).state).toBe('Active')
  })

  it('discards the prepared plan if the commit fails', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway } = catalogue
    const { proxy } = await publishApi(catalogue)
    await proxies.stage(ACME, stageInput())
    gateway.onPrepare = () => touch(catalogue, proxy)

    await expect(proxies.activate(ACME, proxy)).rejects.toMatchObject({ status: 409, code: 'state_conflict' })
    expect(gateway.calls).toEqual(['prepare orders-v1 2', 'abort orders-v1 2'])
    expect(await proxies.get('acme', proxy)).toMatchObject({ activeRevision: 1, stagingRevision: 2 })
    expect((await plansOf(catalogue.restart().proxies)).map(({ plan }) => plan.revision)).toEqual([1])
  })

  it('delays later commands for the API until every thread serves the revision', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway } = catalogue
    const { proxy } = await publishApi(catalogue)
    await proxies.stage(ACME, stageInput())
    let late: Promise<unknown> = Promise.resolve()
    gateway.onPrepare = async () => {
      late = proxies.discard(ACME, proxy).catch((problem: unknown) => problem)
    }

    expect(await proxies.activate(ACME, proxy)).toMatchObject({ activeRevision: 2 })
    expect(gateway.calls).toEqual(['prepare orders-v1 2', 'swap orders-v1 2'])
    expect(await late).toMatchObject({ code: 'no_staging_revision' })
  })

  it('fails without a swap if the disk rejects the commit', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway, registry } = catalogue
    const { proxy } = await publishApi(catalogue)
    await proxies.stage(ACME, stageInput())
    const { commit } = registry
    registry.commit = async () => {
      throw new Error('disk full')
    }

    await expect(proxies.activate(ACME, proxy)).rejects.toThrow('disk full')
    expect(gateway.calls).toEqual(['prepare orders-v1 2', 'abort orders-v1 2'])
    registry.commit = commit
    expect(await proxies.activate(ACME, proxy)).toMatchObject({ activeRevision: 2 })
  })

  it('changes nothing if a thread cannot compile the revision', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway } = catalogue
    const { proxy } = await publishApi(catalogue)
    await proxies.stage(ACME, stageInput())
    gateway.onPrepare = async () => {
      throw new Problem('specification_invalid', 'A schema cannot be compiled.')
    }

    await expect(proxies.activate(ACME, proxy)).rejects.toMatchObject({ code: 'specification_invalid' })
    expect(gateway.calls).toEqual(['prepare orders-v1 2'])
    expect(await proxies.get('acme', proxy)).toMatchObject({ activeRevision: 1, stagingRevision: 2 })
  })

  it('takes effect at the next start if the process dies between commit and swap', async () => {
    const catalogue = openTestCatalogue()
    const { proxy } = await publishApi(catalogue)
    await catalogue.proxies.stage(ACME, stageInput({ specification: base64(orders({ version: '1.3.0' })) }))
    catalogue.gateway.onSwap = async () => {
      throw new Error('the process is gone')
    }
    await expect(catalogue.proxies.activate(ACME, proxy)).rejects.toThrow('the process is gone')

    const next = catalogue.restart()
    expect((await plansOf(next.proxies)).map(({ plan }) => plan.revision)).toEqual([2])
    expect(await next.apis.get('acme', API)).toMatchObject({ version: '1.3.0' })
  })

  it('succeeds for one of two concurrent requests; the other gets 409 and its plan is discarded', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway } = catalogue
    const { proxy } = await publishApi(catalogue)
    await proxies.stage(ACME, stageInput())
    const ends = await Promise.allSettled([proxies.activate(ACME, proxy), proxies.activate(ACME, proxy)])

    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { status: 409 } })
    expect(gateway.calls.filter((call) => call.startsWith('swap'))).toEqual(['swap orders-v1 2'])
    expect(gateway.calls.filter((call) => call.startsWith('abort'))).toHaveLength(
      gateway.calls.filter((call) => call.startsWith('prepare')).length - 1,
    )
  })

  it('never replaces newer limits: a concurrent declaration is applied after the swap', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, specifications, gateway } = catalogue
    const { proxy } = await publishApi(catalogue)
    await specifications.createOpenSla(ACME, { api: API, specification: base64(declaration({ perMinute: 10 })) })
    await proxies.stage(ACME, stageInput())
    gateway.calls.length = 0
    let declared: Promise<unknown> = Promise.resolve()
    gateway.onPrepare = async () => {
      declared = specifications.createOpenSla(ACME, { api: API, specification: base64(declaration({ perMinute: 5 })) })
    }

    await proxies.activate(ACME, proxy)
    await declared
    expect(gateway.calls).toEqual(['prepare orders-v1 2', 'swap orders-v1 2', 'sla orders-v1 '])
    expect(gateway.slas.at(-1)?.limits[0]?.rule.value).toBe(5)
  })

  it.each(['activate', 'discard'] as const)('requires a staging revision, like a discard: %s', async (verb) => {
    const catalogue = openTestCatalogue()
    const { proxy } = await publishApi(catalogue)

    const refused = catalogue.proxies[verb](ACME, proxy)
    await expect(refused).rejects.toMatchObject({ status: 409, code: 'no_staging_revision' })
    expect(catalogue.gateway.calls).toEqual([])
  })

  it.each(['activate', 'discard'] as const)(
    'returns 404 for the proxy of another tenant, like a discard: %s',
    async (verb) => {
      const catalogue = openTestCatalogue()
      const { proxy } = await publishApi(catalogue)
      await catalogue.proxies.stage(ACME, stageInput())

      await expect(catalogue.proxies[verb](RIVAL, proxy)).rejects.toMatchObject({ status: 404, code: 'not_found' })
      expect(await catalogue.proxies.get('acme', proxy)).toMatchObject({ stagingRevision: 2 })
      await expect(catalogue.proxies.get('rival', proxy)).rejects.toMatchObject({ code: 'not_found' })
      await expect(catalogue.proxies.revisions('rival', proxy)).rejects.toMatchObject({ code: 'not_found' })
    },
  )
})
