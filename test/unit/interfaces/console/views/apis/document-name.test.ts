import { expect, it } from 'vitest'
import { readName } from '../../../../../../src/interfaces/console/views/apis/document-name.ts'

it.each([
  ['openapi: 3.1.0\ninfo:\n  title: Shop orders\n  version: 1.4.0\n', 'shop-orders-v1'],
  ['info:\n  version: "2.0.0"\n  title: "Größe & Gewicht"\n', 'gr-e-gewicht-v2'],
  ['openapi: 3.1.0\ninfo:\n  title: Shop\n  version: v3\n  x-tollgate-name: store\n', 'store-v3'],
  [JSON.stringify({ openapi: '3.1.0', info: { title: 'Shop', version: '1.0.0' } }), 'shop-v1'],
  [JSON.stringify({ openapi: '3.1.0', info: { title: 'Shop', version: '1.0.0' } }, null, 2), 'shop-v1'],
  ['{"info":{"version":"12.1.0","title":"A b"},"paths":{}}', 'a-b-v12'],
  ['', ''],
  ['info:\n  title: Shop\n', ''],
  ['not a document', ''],
])('reads the name that the service derives from %j', (document, name) => {
  expect(readName(document)).toBe(name)
})
