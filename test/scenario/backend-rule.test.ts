/** Issue 14, point 8: what the catalogue does with the rule for backends' addresses. */

import { describe, expect, it } from 'vitest'
import { exemptOldBackends } from '../../src/publishing/exempt-backends.ts'
import { ACME, base64, openHouse, orders, type House } from '../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const REFUSED = 'not there'
const LOCAL = { url: 'http://127.0.0.1:9000' }
const stage = { api: API, specification: base64(orders()) }

function refuseLocal({ backends }: House): void {
  backends.mayBePrivate = () => false
  backends.refuse = (_tenant, url) => (url.includes('127.0.0.1') ? REFUSED : null)
}

const at = (pointer: string) => ({ code: 'payload_invalid', errors: [{ pointer, detail: REFUSED }] })

const planOf = async ({ proxies }: House) => (await Array.fromAsync(proxies.activePlans()))[0]?.plan.backend

async function activate(house: House, backend: { url: string }): Promise<string> {
  const { id } = await house.proxies.stage(ACME, { ...stage, backend })
  await house.proxies.activate(ACME, id)
  return id
}

describe('point 8: staging', () => {
  it('is refused with a pointer to where the refused address comes from', async () => {
    const house = openHouse()
    refuseLocal(house)
    const { proxies, backends } = house
    await expect(proxies.stage(ACME, { ...stage, backend: LOCAL })).rejects.toMatchObject(at('/backend/url'))
    backends.refuse = () => REFUSED
    await expect(proxies.stage(ACME, stage)).rejects.toMatchObject(at('/servers/0/url'))
  })

  it('of a kept revision is refused if its backend is at a refused address, and takes another backend', async () => {
    const house = openHouse()
    const { proxies } = house
    await activate(house, LOCAL)
    refuseLocal(house)
    const again = { api: API, fromRevision: 1 }
    await expect(proxies.stage(ACME, again)).rejects.toMatchObject(at('/fromRevision'))
    expect(await proxies.stage(ACME, { ...again, backend: { url: 'https://b.example' } })).toMatchObject({
      stagingRevision: 2,
    })
  })
})

describe('point 8: a revision that was activated before the rule', () => {
  it('keeps its private backend until the next staging', async () => {
    const house = openHouse()
    const { proxies, registry } = house
    const id = await activate(house, LOCAL)
    refuseLocal(house)
    expect(await planOf(house)).toMatchObject({ mayBePrivate: false })

    expect(await exemptOldBackends(registry, 'default')).toBe(1)
    expect(await planOf(house)).toMatchObject({ origin: 'http://127.0.0.1:9000', mayBePrivate: true })

    await proxies.stage(ACME, { api: API, fromRevision: 1, backend: { url: 'https://b.example' } })
    await proxies.activate(ACME, id)
    expect(await planOf(house)).toMatchObject({ origin: 'https://b.example', mayBePrivate: false })
  })

  it('is marked on the first start only: what is activated later is not exempt', async () => {
    const house = openHouse()
    expect(await exemptOldBackends(house.registry, 'default')).toBe(0)
    await activate(house, LOCAL)
    refuseLocal(house)
    expect(await exemptOldBackends(house.registry, 'default')).toBe(0)
    expect(await planOf(house)).toMatchObject({ mayBePrivate: false })
  })

  it('is not marked if it was only staged, and cannot be activated', async () => {
    const house = openHouse()
    const { proxies, registry } = house
    const { id } = await proxies.stage(ACME, { ...stage, backend: LOCAL })
    expect(await exemptOldBackends(registry, 'default')).toBe(0)
    refuseLocal(house)
    await expect(proxies.activate(ACME, id)).rejects.toMatchObject({ code: 'state_conflict' })
    expect(await planOf(house)).toBeUndefined()
  })
})
