import { expect, it } from 'vitest'
import { ACME, base64, declaration, openTestCatalogue, orders, RIVAL } from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

async function setUp() {
  const catalogue = openTestCatalogue()
  const { id: proxy } = await catalogue.proxies.stage(ACME, { api: API, specification: base64(orders()) })
  const declare = async (perMinute: number) =>
    (
      await catalogue.specifications.createOpenSla(ACME, {
        api: API,
        specification: base64(declaration({ perMinute })),
      })
    ).id
  return { catalogue, proxy, declare, remove: (id: string) => catalogue.declarationRemoval.remove(ACME, id) }
}

it('A declaration of an API that never served is removed with its content, and the API is activated without it', async () => {
  const { catalogue, proxy, declare, remove } = await setUp()
  const id = await declare(10)
  await expect(catalogue.declarationRemoval.remove(RIVAL, id)).rejects.toMatchObject({ code: 'not_found' })
  await remove(id)
  for (const read of [catalogue.specifications.openSla, catalogue.specifications.openSlaContent]) {
    await expect(read('acme', id)).rejects.toMatchObject({ code: 'not_found' })
  }
  await catalogue.proxies.activate(ACME, proxy)
  expect(catalogue.gateway.prepared.at(-1)?.slas).toEqual([])
})

it('A declaration that is in force or was superseded stays, because bills refer to it', async () => {
  const { catalogue, proxy, declare, remove } = await setUp()
  const first = await declare(10)
  await catalogue.proxies.activate(ACME, proxy)
  const second = await declare(20)
  await expect(remove(first)).rejects.toMatchObject({ code: 'state_conflict', extensions: { state: 'superseded' } })
  await expect(remove(second)).rejects.toMatchObject({ code: 'state_conflict', extensions: { state: 'in force' } })
  expect((await catalogue.specifications.openSlas('acme', { limit: 9 })).items).toHaveLength(2)
})
