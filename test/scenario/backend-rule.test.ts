/** The rule for the addresses of backends, in staging and activation. */

import { describe, expect, it } from 'vitest'
import { exemptOldBackends } from '../../src/control/publishing/exempt-backends.ts'
import { ACME, base64, openTestCatalogue, orders, type TestCatalogue } from '../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const REFUSED = 'not there'
const LOCAL = { url: 'http://127.0.0.1:9000' }
const stage = { api: API, specification: base64(orders()) }

function refuseLocal({ backends }: TestCatalogue): void {
  backends.mayBePrivate = () => false
  backends.refuse = (_tenant, url) => (url.includes('127.0.0.1') ? REFUSED : null)
}

const at = (pointer: string) => ({ code: 'payload_invalid', errors: [{ pointer, detail: REFUSED }] })

const planOf = async ({ proxies }: TestCatalogue) => (await Array.fromAsync(proxies.activePlans()))[0]?.plan.backend

async function activate(catalogue: TestCatalogue, backend: { url: string }): Promise<string> {
  const { id } = await catalogue.proxies.stage(ACME, { ...stage, backend })
  await catalogue.proxies.activate(ACME, id)
  return id
}

describe('staging', () => {
  it('is refused with a pointer to the source of the refused address', async () => {
    const catalogue = openTestCatalogue()
    refuseLocal(catalogue)
    const { proxies, backends } = catalogue
    await expect(proxies.stage(ACME, { ...stage, backend: LOCAL })).rejects.toMatchObject(at('/backend/url'))
    backends.refuse = () => REFUSED
    await expect(proxies.stage(ACME, stage)).rejects.toMatchObject(at('/servers/0/url'))
  })

  it('is refused if one of several targets is at a refused address, and so is activation', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, backends } = catalogue
    const backend = { targets: [{ url: 'https://b.example' }, LOCAL] }
    const { id } = await proxies.stage(ACME, { ...stage, backend })
    refuseLocal(catalogue)
    await expect(proxies.stage(ACME, { ...stage, backend })).rejects.toMatchObject(at('/backend/targets/1/url'))
    await expect(proxies.activate(ACME, id)).rejects.toMatchObject({ code: 'state_conflict' })
    backends.refuse = () => null
    await proxies.activate(ACME, id)
    expect(await planOf(catalogue)).toMatchObject({ mayBePrivate: false, targets: [{}, {}] })
  })

  it('of a retained revision is refused if its backend is at a refused address, unless the request sets another backend', async () => {
    const catalogue = openTestCatalogue()
    const { proxies } = catalogue
    await activate(catalogue, LOCAL)
    refuseLocal(catalogue)
    const again = { api: API, fromRevision: 1 }
    await expect(proxies.stage(ACME, again)).rejects.toMatchObject(at('/fromRevision'))
    expect(await proxies.stage(ACME, { ...again, backend: { url: 'https://b.example' } })).toMatchObject({
      stagingRevision: 2,
    })
  })
})

describe('a revision that was activated before the rule', () => {
  it('keeps its private backend until the next staging', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, registry } = catalogue
    const id = await activate(catalogue, LOCAL)
    refuseLocal(catalogue)
    expect(await planOf(catalogue)).toMatchObject({ mayBePrivate: false })

    expect(await exemptOldBackends(registry, 'default')).toBe(1)
    expect(await planOf(catalogue)).toMatchObject({ origin: 'http://127.0.0.1:9000', mayBePrivate: true })

    await proxies.stage(ACME, { api: API, fromRevision: 1, backend: { url: 'https://b.example' } })
    await proxies.activate(ACME, id)
    expect(await planOf(catalogue)).toMatchObject({ origin: 'https://b.example', mayBePrivate: false })
  })

  it('is marked on the first start only, so that later activations are not exempt', async () => {
    const catalogue = openTestCatalogue()
    expect(await exemptOldBackends(catalogue.registry, 'default')).toBe(0)
    await activate(catalogue, LOCAL)
    refuseLocal(catalogue)
    expect(await exemptOldBackends(catalogue.registry, 'default')).toBe(0)
    expect(await planOf(catalogue)).toMatchObject({ mayBePrivate: false })
  })

  it('is not marked if it was only staged, and cannot be activated', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, registry } = catalogue
    const { id } = await proxies.stage(ACME, { ...stage, backend: LOCAL })
    expect(await exemptOldBackends(registry, 'default')).toBe(0)
    refuseLocal(catalogue)
    await expect(proxies.activate(ACME, id)).rejects.toMatchObject({ code: 'state_conflict' })
    expect(await planOf(catalogue)).toBeUndefined()
  })
})
