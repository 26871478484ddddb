import { expect, it } from 'vitest'
import { contentWrite, readContent } from '../../../../src/control/publishing/published-content.ts'
import { ACME, openTestCatalogue } from '../../../fixtures/test-catalogue.ts'

it('returns a document byte for byte, also one that an earlier version stored without compression', async () => {
  const { registry } = openTestCatalogue()
  const bytes = Buffer.from([0, 255, 10, 13, ...Buffer.from('öpenapi: 3.1.0')])
  const write = await contentWrite('spc_1', ACME.tenant, { bytes, mediaType: 'application/yaml' })
  const old = { mediaType: 'application/yaml', base64: bytes.toString('base64') }
  const { size: _, ...withoutSize } = write.body as { size: number }
  await registry.commit(ACME, 'test', [
    write,
    { ...write, id: 'spc_2', body: old },
    { ...write, id: 'spc_3', body: withoutSize },
  ])

  for (const id of ['spc_1', 'spc_2', 'spc_3']) {
    expect(await readContent(registry, ACME.tenant, id)).toEqual({ bytes, mediaType: 'application/yaml' })
  }
  await expect(readContent(registry, 'rival', 'spc_1')).rejects.toMatchObject({ code: 'not_found' })
})

it('stores a large document in a fraction of its size', async () => {
  const bytes = Buffer.from(JSON.stringify(Array.from({ length: 50_000 }, (_, index) => ({ name: `item ${index}` }))))
  const write = await contentWrite('spc_1', ACME.tenant, { bytes, mediaType: 'application/json' })
  expect(JSON.stringify(write.body).length).toBeLessThan(bytes.length / 4)
})
